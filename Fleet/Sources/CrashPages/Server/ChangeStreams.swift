internal import HTTPTypes
internal import Hummingbird
internal import NIOCore
internal import ServiceLifecycle
internal import Synchronization

/// Sends changes to open pages as server-sent events (HTML standard, section 9.2).
final class ChangeStreams: Sendable {
  /// The maximum number of open streams.
  ///
  /// Each stream can need a database connection of its own. Pages without a stream still reload periodically.
  static let limit = 16

  private let open = Mutex(0)

  /// Returns a response that stays open until the client or the server ends; nil if too many are open.
  ///
  /// `changes` starts when the client reads.
  func response(
    to request: Request, _ changes: @escaping @Sendable () -> AsyncStream<Bool>?
  ) -> Response? {
    // Only check the limit here. The body of the response counts the stream, because the body does not run if the
    // client has already disconnected.
    guard open.withLock({ $0 < Self.limit }) else { return nil }
    var headers = SecurityHeaders.fields
    headers[.contentType] = "text/event-stream"
    headers[.cacheControl] = "no-store"
    let body = ResponseBody { [self] writer in
      guard enter() else { return try await writer.finish(nil) }
      defer { open.withLock { $0 -= 1 } }
      if let changes = changes() {
        try await request.body.consumeWithCancellationOnInboundClose { _ in
          try await Self.write(changes, to: &writer)
        }
      }
      try await writer.finish(nil)
    }
    return Response(status: .ok, headers: headers, body: body)
  }

  /// Counts a stream; false if the maximum is open.
  private func enter() -> Bool {
    open.withLock { count in
      if count >= Self.limit { return false }
      count += 1
      return true
    }
  }

  // If nothing has changed, send a comment, because the write fails if the client has disconnected.
  private static func write(_ changes: AsyncStream<Bool>, to writer: inout any ResponseBodyWriter) async throws {
    for await hasChanged in changes.cancelOnGracefulShutdown() {
      try await writer.write(ByteBuffer(string: hasChanged ? "data: changed\n\n" : ":\n\n"))
    }
  }
}

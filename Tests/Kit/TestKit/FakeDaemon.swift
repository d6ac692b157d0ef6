import Foundation
import Glibc
import LinuxSystem

/// A listener on a socket of its own that answers each connection as a test says.
public final class FakeDaemon: Sendable {
  /// Where it listens.
  public let socketPath: String
  private let directory: String
  private let listener: Int32

  /// Listens; each connection gets a thread that runs `answer`.
  /// - Throws: `CocoaError` when the directory cannot be made.
  public init(answer: @escaping @Sendable (FakeConnection) -> Void) throws {
    directory = "/tmp/cs-fake-\(UUID().uuidString.prefix(8))"
    try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
    socketPath = directory + "/s"
    let listener = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    self.listener = listener
    guard UnixAddress(path: socketPath)?.bind(listener) == 0, listen(listener, 16) == 0 else {
      throw CocoaError(.fileWriteUnknown)
    }
    Foundation.Thread.detachNewThread {
      while true {
        // It fails once `stop` has shut the listener down.
        let descriptor = accept(listener, nil, nil)
        if descriptor < 0 && errno == EINTR { continue }
        guard descriptor >= 0 else { break }
        _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC)
        Foundation.Thread.detachNewThread { answer(FakeConnection(descriptor: descriptor)) }
      }
      close(listener)
    }
  }

  /// Ends it: must be called once.
  public func stop() {
    shutdown(listener, Int32(SHUT_RDWR))
    // A test that leaves its directory behind has nothing else to clean up.
    do { try FileManager.default.removeItem(atPath: directory) } catch { print("leaving \(directory): \(error)") }
  }
}

/// A connection to the fake daemon; closed at its release.
public final class FakeConnection {
  private let descriptor: Int32

  init(descriptor: Int32) { self.descriptor = descriptor }

  deinit {
    // A child of another test may have a copy.
    shutdown(descriptor, Int32(SHUT_RDWR))
    close(descriptor)
  }

  /// The next call, without its NUL; nil when the client hung up.
  public func call() -> String? {
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 64 << 10)
    while bytes.last != 0 {
      // The pointer covers the array and is used during the call only.
      let count = unsafe recv(descriptor, &chunk, chunk.count, 0)
      if count < 0 && errno == EINTR { continue }
      if count <= 0 { return nil }
      bytes += chunk[..<count]
    }
    return String(decoding: bytes.dropLast(), as: UTF8.self)
  }

  /// Sends bytes, `size` at a time; a closed client is ignored.
  public func send(_ text: String, piecesOf size: Int = .max) {
    var rest = Array(text.utf8)[...]
    while !rest.isEmpty {
      let piece = Array(rest.prefix(size))
      // The pointer covers the array and is used during the call only.
      let count = unsafe Glibc.send(descriptor, piece, piece.count, Int32(MSG_NOSIGNAL))
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { return }
      rest = rest.dropFirst(count)
    }
  }

  /// Sends a reply with these parameters, as JSON.
  public func reply(_ parameters: String, continues: Bool = false, error: String? = nil, piecesOf size: Int = .max) {
    let name = error.map { #","error":"\#($0)""# } ?? ""
    send(#"{"parameters":\#(parameters)\#(continues ? #","continues":true"# : "")\#(name)}"# + "\0", piecesOf: size)
  }

  /// Waits until the client hangs up.
  public func waitForHangup() { while call() != nil {} }
}

// Each connection is used by the thread that serves it.
@available(*, unavailable)
extension FakeConnection: Sendable {}

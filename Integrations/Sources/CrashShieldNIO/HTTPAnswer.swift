public import NIOCore
public import NIOHTTP1

/// The response to a request of a `ContainedHTTPHandler`.
///
/// The handler sets the header `Content-Length`. If it closes the connection, it also sets the header `Connection`.
public struct HTTPAnswer: Sendable {
  /// The status.
  public var status: HTTPResponseStatus
  /// The headers, without `Content-Length` and `Connection`.
  public var headers: HTTPHeaders
  /// The body.
  public var body: ByteBuffer

  /// Creates a response from its parts.
  public init(_ body: ByteBuffer = ByteBuffer(), status: HTTPResponseStatus = .ok, headers: HTTPHeaders = [:]) {
    (self.status, self.headers, self.body) = (status, headers, body)
  }

  /// Creates a response with a text.
  public init(_ text: String, status: HTTPResponseStatus = .ok) {
    self.init(ByteBuffer(string: text), status: status, headers: ["Content-Type": "text/plain; charset=utf-8"])
  }
}

import CCurl
import CrashReport
import Synchronization

/// The PEM files by which a client identifies itself to a TLS server.
public struct ClientIdentity: Sendable, Equatable {
  /// The path of the certificate.
  ///
  /// The file can also contain the intermediate certificates, after the client's.
  public var certificate: String
  /// The path of the certificate's private key, which has no password.
  public var key: String
}

/// Sends POST requests to one server over a persistent connection.
public final class HTTPClient: Sendable {
  // Sendable: the handle is used only while its lock is held, and is released with the client.
  @safe
  private struct Handle: ~Copyable, @unchecked Sendable {
    let pointer: OpaquePointer?
    var hasTaken = false
  }

  private let handle: Mutex<Handle>
  private let caFile: String
  private let stop: StopSignal?
  private let timeout_ms: UInt32

  /// - Parameters:
  ///   - caFile: The path of a file with the certificates to trust, instead of the machine's certificates.
  ///   - identity: The client's certificate; nil sends none.
  ///   - stop: The signal whose hang-up ends a transfer.
  ///   - timeout: The limit of a whole request.
  public init(
    caFile: String? = nil, identity: ClientIdentity? = nil, stop: StopSignal? = nil, timeout: Duration = .seconds(30)
  ) {
    // The lock `begin` ensures that the first call of libcurl returns before another call begins, because the first
    // call initializes libcurl.
    handle = Mutex(Self.begin.withLock { _ in unsafe Handle(pointer: Self.make(identity)) })
    self.caFile = caFile ?? ""
    self.stop = stop
    timeout_ms = UInt32(timeout / .milliseconds(1))
  }

  /// Returns nil if libcurl cannot be used.
  private static func make(_ identity: ClientIdentity?) -> OpaquePointer? {
    guard let pointer = unsafe cs_http_make() else { return nil }
    guard let identity else { return unsafe pointer }
    // Invariant: the pointer is valid, and the call copies both strings.
    if unsafe cs_http_set_certificate(pointer, identity.certificate, identity.key) { return unsafe pointer }
    unsafe cs_http_free(pointer)
    return nil
  }

  private static let begin = Mutex(())

  deinit { handle.withLock { unsafe cs_http_free($0.pointer) } }

  /// The response of a server.
  struct Answer: Sendable, Equatable {
    /// The HTTP status of the response.
    ///
    /// 0 means that the client did not receive a response.
    var status: Int
    var retryAfter: Duration?
    /// The first bytes of the body.
    var body: [UInt8]
    /// The reason why the client did not receive a response.
    var problem: String
    /// Whether the server has accepted a request since this client was created.
    var hasTaken = false
  }

  func post(_ body: [UInt8], to url: String, headers: [String]) -> Answer {
    let headers = headers.map { "\($0)\n" }.joined()
    return handle.withLock { handle in
      guard let pointer = unsafe handle.pointer else {
        return Answer(status: 0, body: [], problem: "libcurl cannot be used")
      }
      // Invariant: all pointers are valid until the call returns, and the call fills in the structure.
      return unsafe body.withUnsafeBytes { body in
        unsafe url.withCString { url in
          unsafe headers.withCString { headers in
            unsafe caFile.withCString { caFile in
              let request = unsafe cs_http_request(
                url: url, headers: headers, body: body.baseAddress, body_bytes: body.count, ca_file: caFile,
                timeout_ms: timeout_ms, stop: stop?.descriptor ?? -1)
              var answer = unsafe Self.answer(pointer, request)
              if (200..<300).contains(answer.status) { handle.hasTaken = true }
              answer.hasTaken = handle.hasTaken
              return answer
            }
          }
        }
      }
    }
  }

  private static func answer(_ pointer: OpaquePointer, _ request: cs_http_request) -> Answer {
    var (request, answer) = unsafe (request, cs_http_answer())
    unsafe cs_http_post(pointer, &request, &answer)
    let count = Int(answer.body_bytes)
    // Invariant: `body_bytes` is at most the size of `body`, and `problem` is NUL-terminated.
    let body = unsafe withUnsafeBytes(of: &answer.body) { unsafe Array($0.prefix(count)) }
    let problem = unsafe withUnsafeBytes(of: &answer.problem) {
      unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
    }
    return Answer(
      status: Int(answer.status), retryAfter: answer.retry_after_s > 0 ? .seconds(answer.retry_after_s) : nil,
      body: body, problem: problem)
  }
}

extension HTTPClient.Answer {
  /// Maps the HTTP status to the outcome of an event.
  ///
  /// If `quotesBody` is true, the message of a refusal quotes the response. It must be false if the URL is a secret,
  /// because a server can repeat the URL in its response.
  func delivery(from server: String, quotesBody: Bool = true) -> Delivery {
    switch status {
    case 200..<300: return .delivered
    // Until a server has accepted a request, its address in the settings can be wrong. Therefore try again later. For
    // example, a TLS server answers 400 to a client that does not use TLS.
    case 400 where !hasTaken:
      return .later("\(server) answers 400 and has accepted nothing yet: is the address right?", maybeNever: true)
    // The server rejects only this event, because the server cannot parse the event or the event is too large.
    case 400, 413, 415, 422: return .refused("\(server) answers \(status)\(quotesBody ? words : "")")
    // Do not log a message with `@`. If libcurl cannot parse a proxy's address, the message contains the address with
    // the password.
    case 0: return .later("\(server): \(problem.contains("@") ? "libcurl cannot use the proxy's address" : problem)")
    // With these statuses, the server requests a retry at another time.
    case 408, 425, 429, 502, 503, 504: return .later("\(server) answers \(status)", after: retryAfter)
    // Other statuses probably mean a server error or a wrong setting, which would affect every event. The message omits
    // the body, because a server that rejects a key can repeat the key in it.
    default: return .later("\(server) answers \(status)", after: retryAfter, maybeNever: true)
    }
  }

  /// The first bytes of the body, for the message of a refusal.
  private var words: String {
    let text = CleanText.line(String(decoding: body.prefix(200), as: UTF8.self))
    return text.isEmpty ? "" : ": \(text)"
  }
}

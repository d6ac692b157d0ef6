import CCurl
import CrashReport
import Synchronization

/// Posts to one server over a persistent connection.
public final class HTTPClient: Sendable {
  // Sendable: only used under the lock of `handle`, and released with the client.
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
  ///   - caFile: Certificates to trust instead of the machine's.
  ///   - stop: Its hang-up ends a transfer.
  ///   - timeout: For all of a request.
  public init(caFile: String? = nil, stop: StopSignal? = nil, timeout: Duration = .seconds(30)) {
    // libcurl's first call must return before another begins.
    handle = Mutex(Self.begin.withLock { _ in unsafe Handle(pointer: cs_http_make()) })
    self.caFile = caFile ?? ""
    self.stop = stop
    timeout_ms = UInt32(timeout / .milliseconds(1))
  }

  private static let begin = Mutex(())

  deinit { handle.withLock { unsafe cs_http_free($0.pointer) } }

  /// The answer of a server.
  struct Answer: Sendable, Equatable {
    /// 0: there was no answer.
    var status: Int
    var retryAfter: Duration?
    /// The first bytes of the body.
    var body: [UInt8]
    /// The reason if there was no answer.
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
      // All of the pointers live until the call returns; the answer is one structure.
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
    // `body_bytes` is at most the size of `body`; `problem` ends with a zero.
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
  /// The outcome of an event by the status.
  ///
  /// `quotesBody`: whether the message of a refusal quotes the answer. It must not where the address is a secret, which a
  /// server may repeat.
  func delivery(from server: String, quotesBody: Bool = true) -> Delivery {
    switch status {
    case 200..<300: return .delivered
    // It may be the wrong server: a TLS server answers 400 to a plain HTTP client.
    case 400 where !hasTaken:
      return .later("\(server) answers 400 and has accepted nothing yet: is the address right?", maybeNever: true)
    // Only this event: the server does not understand it, or it is too large.
    case 400, 413, 415, 422: return .refused("\(server) answers \(status)\(quotesBody ? words : "")")
    // libcurl repeats a proxy's address, with its password, where it does not understand it.
    case 0: return .later("\(server): \(problem.contains("@") ? "libcurl cannot use the proxy's address" : problem)")
    // The server asks to retry later.
    case 408, 425, 429, 502, 503, 504: return .later("\(server) answers \(status)", after: retryAfter)
    // Every event would fail alike: a server error, or wrong settings. The message omits the body: a server that refuses a key may
    // repeat it.
    default: return .later("\(server) answers \(status)", after: retryAfter, maybeNever: true)
    }
  }

  /// The first bytes of the body as text.
  private var words: String {
    let text = CleanText.line(String(decoding: body.prefix(200), as: UTF8.self))
    return text.isEmpty ? "" : ": \(text)"
  }
}

import CrashProtocol
import CrashReport

/// The HTTP client of the fleet's service.
public struct FleetClient: Sendable {
  private let url: SinkURL
  private let token: String?
  private let http: HTTPClient

  /// Creates a client.
  ///
  /// A URL is, for example, `https://fleet.example.org:8320`. Fails if the URL is not valid, or if the token is empty,
  /// or contains a blank or a character that is not printable ASCII. Without a token, `http` needs a client
  /// certificate.
  public init?(url: String, token: String?, http: HTTPClient) {
    let isGood = token.map { $0.utf8.allSatisfy { (0x21...0x7e).contains($0) } && !$0.isEmpty } ?? true
    guard let parts = Self.parts(url), isGood else { return nil }
    (self.url, self.token, self.http) = (parts, token, http)
  }

  /// Returns whether the URL is valid.
  @Sendable static func takes(url: String) -> Bool { parts(url) != nil }

  private static func parts(_ text: String) -> SinkURL? {
    guard let url = SinkURL(text), url.user == nil, url.path.isEmpty || url.path == "/" else { return nil }
    return url
  }

  /// The result of a request.
  enum Outcome {
    /// The fleet committed the batch.
    case committed(Receipt)
    /// The fleet will never accept this body.
    case refused(String)
    case later(String, after: Duration?)
  }

  /// What the fleet did not store of a committed batch.
  struct Receipt {
    /// The refused items, by their number in the batch, with reasons; the fleet lists only the first ones.
    var refusals: [(item: Int, reason: String)]
    /// The number of refused items.
    var refused: Int
    /// The number of items that are older than the retention of the fleet.
    var expired: Int
    /// The open asks: requests of the fleet to this host.
    var asks: [FleetAsk] = []
  }

  func send(_ body: [UInt8]) -> Outcome {
    let answer = post(body, to: "/v1/reports")
    let reply = JSONValue.decoded(answer.body)
    switch answer.status {
    case 200 where reply?["committed"] == .bool(true):
      let items = reply?["items"]
      return .committed(
        Receipt(
          refusals: Self.refusals(reply), refused: max(0, items?["refused"]?.int ?? 0),
          expired: max(0, items?["expired"]?.int ?? 0), asks: FleetAsk.asks(in: reply)))
    case 400, 413, 422: return .refused(reason(answer, reply))
    default: return .later(reason(answer, reply), after: answer.retryAfter)
    }
  }

  /// The last state of this machine that the fleet has committed.
  struct Position {
    /// The cursor after the machine's last committed batch; nil if there is none.
    var cursor: String?
    /// The open asks that the machine has answered.
    var answered: [Int]
  }

  /// Requests the position of this machine from the fleet.
  ///
  /// - Throws: `Later`, with the reason why the fleet does not answer.
  func position(_ host: FleetHost, stream: String) throws(Later) -> Position {
    let answer = post([], to: "/v1/position?machine=\(host.machine)&stream=\(Self.escaped(stream))")
    let reply = JSONValue.decoded(answer.body)
    guard answer.status == 200, let reply else { throw Later(why: reason(answer, reply), after: answer.retryAfter) }
    guard case .array(let answered)? = reply["answered"] else {
      return Position(cursor: reply["cursor"]?.string, answered: [])
    }
    return Position(cursor: reply["cursor"]?.string, answered: answered.prefix(FleetAsk.limit).compactMap(\.int))
  }

  struct Later: Error {
    var why: String
    var after: Duration?
  }

  private func post(_ body: [UInt8], to path: String) -> HTTPClient.Answer {
    let headers = ["Content-Type: application/x-ndjson"] + (token.map { ["Authorization: Bearer \($0)"] } ?? [])
    return http.post(body, to: "\(url.scheme)\(url.host)\(path)", headers: headers)
  }

  /// One sentence for the log, which contains neither the token nor a report.
  private func reason(_ answer: HTTPClient.Answer, _ reply: JSONValue?) -> String {
    if answer.status == 0 { return "\(url.host): \(answer.problem.contains("@") ? "a proxy fails" : answer.problem)" }
    let code = reply?["code"]?.string, text = reply?["message"]?.string
    let words = [code, text].compactMap { $0 }.joined(separator: ": ")
    return "\(url.host) answers \(answer.status)" + (words.isEmpty ? "" : " (\(CleanText.line(words)))")
  }

  private static func refusals(_ reply: JSONValue?) -> [(item: Int, reason: String)] {
    guard case .array(let entries)? = reply?["refused"] else { return [] }
    return entries.compactMap { entry in
      guard let item = entry["item"]?.int, let code = entry["code"]?.string else { return nil }
      return (item, "\(code): \(entry["message"]?.string ?? "")")
    }
  }

  /// Escapes a name for a query.
  private static func escaped(_ text: String) -> String {
    text.utf8.map { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
        String(Unicode.Scalar(byte))
      default: "%" + String(byte >> 4, radix: 16) + String(byte & 15, radix: 16)
      }
    }.joined()
  }
}

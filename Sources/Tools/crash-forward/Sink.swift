public import CrashProtocol
public import CrashReport

/// A receiver of reports; used by one thread.
public protocol Sink: Sendable {
  /// One word, such as `journal`: the name of the cursor, and the prefix of log lines.
  var name: String { get }
  /// Sends one event and waits for the outcome.
  func deliver(_ event: SinkEvent) -> Delivery
}

/// The outcome of an event.
public enum Delivery: Sendable, Equatable {
  /// The server accepted it.
  case delivered
  /// The server will never accept this event, for the given reason; it may accept others.
  case refused(String)
  /// The server does not accept it now, for the given reason; `after` is the retry delay that it asks for.
  /// `maybeNever`: it rejected the event or the key, and may do so forever.
  case later(String, after: Duration? = nil, maybeNever: Bool = false)
}

/// A report to send.
public struct SinkEvent: Sendable, Equatable {
  /// The scrubbed report.
  public var report: CrashReport
  /// All of it as JSON, with keys of later versions.
  public var json: JSONValue

  /// Creates an event of a received report, scrubbed if there is a scrubber.
  public init(_ received: ReceivedReport, scrubbedBy scrubber: TextScrubber? = nil) throws {
    guard let scrubber else {
      (report, json) = (received.report, received.json)
      return
    }
    json = scrubber.scrub(report: received.json)
    report = try ReportCoding.decode(json.encoded())
  }
}

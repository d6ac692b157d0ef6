public import CrashProtocol
public import CrashReport

/// A receiver of reports.
///
/// Each sink is used by one thread only.
public protocol Sink: Sendable {
  /// The name of the sink's cursor in crashd, and the prefix of its log lines.
  ///
  /// The name is one word, such as `journal`.
  var name: String { get }
  /// Sends one event and waits for the outcome.
  func deliver(_ event: SinkEvent) -> Delivery
}

/// The outcome of an event.
public enum Delivery: Sendable, Equatable {
  /// The server accepted the event.
  case delivered
  /// The server will never accept this event, for the given reason. The server can still accept other events.
  case refused(String)
  /// The server does not accept the event now, for the given reason.
  ///
  /// `after` is the retry delay that the server requests. `maybeNever` means that the server rejected the event or the
  /// key, and can reject the event at every retry.
  case later(String, after: Duration? = nil, maybeNever: Bool = false)
}

/// A report to send.
public struct SinkEvent: Sendable, Equatable {
  /// The report, scrubbed if the privacy rules apply to the sink.
  public var report: CrashReport
  /// The whole report as JSON, including keys of later versions that `report` does not have.
  public var json: JSONValue

  /// Creates the event of a received report; scrubs the report if a scrubber is given.
  public init(_ received: ReceivedReport, scrubbedBy scrubber: TextScrubber? = nil) throws {
    guard let scrubber else {
      (report, json) = (received.report, received.json)
      return
    }
    json = scrubber.scrub(report: received.json)
    report = try ReportCoding.decode(json.encoded())
  }
}

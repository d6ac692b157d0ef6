public import CrashProtocol
public import CrashReport

/// Where reports are sent; used by one thread.
public protocol Sink: Sendable {
  /// Of one word, such as `journal`: the cursor is kept under it, and the log begins with it.
  var name: String { get }
  /// Sends one event and waits until it is known what became of it.
  func deliver(_ event: SinkEvent) -> Delivery
}

/// What became of an event.
public enum Delivery: Sendable, Equatable {
  /// The other side has it.
  case delivered
  /// The other side will never take this one; others it may. The text says why.
  case refused(String)
  /// Not now. The text says why; `after` is how long the other side asks to be left alone. `maybeNever`: it has looked at
  /// the event, or would not for one's key, and may say the same for ever.
  case later(String, after: Duration? = nil, maybeNever: Bool = false)
}

/// A report on its way out.
public struct SinkEvent: Sendable, Equatable {
  /// The report, without what the privacy rules name.
  public var report: CrashReport
  /// All of it as JSON, with keys of later versions.
  public var json: JSONValue

  /// An event of a report as it came, scrubbed where there is a scrubber.
  public init(_ received: ReceivedReport, scrubbedBy scrubber: TextScrubber? = nil) throws {
    guard let scrubber else {
      (report, json) = (received.report, received.json)
      return
    }
    json = scrubber.scrub(report: received.json)
    report = try ReportCoding.decode(json.encoded())
  }
}

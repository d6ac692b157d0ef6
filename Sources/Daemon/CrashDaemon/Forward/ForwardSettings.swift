public import CrashProtocol

/// One collector that crashd sends its events to.
public struct ForwardSettings: Sendable, Hashable {
  /// How events are written.
  public enum Format: String, Sendable, CaseIterable {
    /// A line of JSON for each event.
    case jsonl
    /// A call of `io.crashshield.Collector.Report` for each event; its reply says that the collector has it.
    case varlink
  }

  /// The collector's Unix socket.
  public var path: String
  /// How events are written.
  public var format = Format.jsonl
  /// Whether a collector of lines acknowledges events by `{"ack": CURSOR}`.
  public var acknowledges = false
  /// Whether events are scrubbed by the privacy rules.
  public var scrubs = true
  /// Which reports it gets.
  public var filter = ReportFilter()

  /// A collector at a path.
  public init(path: String) { self.path = path }

  /// No client may use a name with this prefix.
  static let subscriberPrefix = "forward "
  /// The name that its cursor is stored under.
  var subscriber: String { Self.subscriberPrefix + path }

  /// Whether an event counts as delivered only when the collector acknowledges it.
  var waitsForAcknowledgement: Bool { format == .varlink || acknowledges }
}

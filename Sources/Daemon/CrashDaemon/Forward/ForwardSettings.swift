public import CrashProtocol

/// One collector that crashd sends its events to.
public struct ForwardSettings: Sendable, Hashable {
  /// How events are written.
  public enum Format: String, Sendable, CaseIterable {
    /// A line of JSON for each event.
    case jsonl
    /// A call of `io.crashshield.Collector.Report` for each event. The reply acknowledges the event.
    case varlink
  }

  /// The collector's Unix socket.
  public var path: String
  /// How events are written.
  public var format = Format.jsonl
  /// Whether a collector that receives JSON lines acknowledges events by `{"ack": CURSOR}`.
  public var acknowledges = false
  /// Whether crashd scrubs events by the privacy rules before it sends them.
  public var scrubs = true
  /// Selects the reports that the collector gets.
  public var filter = ReportFilter()

  /// Makes the settings of a collector at a path.
  public init(path: String) { self.path = path }

  /// The prefix of the subscriber names of collectors.
  ///
  /// No client may subscribe under a name with this prefix.
  static let subscriberPrefix = "forward "
  /// The subscriber name under which the collector's cursor is stored.
  var subscriber: String { Self.subscriberPrefix + path }

  /// Whether an event counts as delivered only when the collector acknowledges it.
  var waitsForAcknowledgement: Bool { format == .varlink || acknowledges }
}

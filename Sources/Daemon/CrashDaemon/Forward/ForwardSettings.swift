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
  /// Whether a collector of lines says what it has, by `{"ack": CURSOR}`.
  public var acknowledges = false
  /// Whether what the privacy rules name is taken out.
  public var scrubs = true
  /// Which reports it gets.
  public var filter = ReportFilter()

  /// A collector at a path.
  public init(path: String) { self.path = path }

  /// No client can have a name that begins like this.
  static let subscriberPrefix = "forward "
  /// Under which its cursor is kept.
  var subscriber: String { Self.subscriberPrefix + path }

  /// Whether an event is the collector's only when it says so.
  var waitsForAcknowledgement: Bool { format == .varlink || acknowledges }
}

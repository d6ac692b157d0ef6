public import CrashProtocol

/// A collector to which crashd sends its events.
public struct ForwardSettings: Sendable, Hashable {
  /// The format in which crashd sends events.
  public enum Format: String, Sendable, CaseIterable {
    /// A line of JSON for each event.
    case jsonl
    /// A call of `io.crashshield.Collector.Report` for each event; the reply acknowledges the event.
    case varlink
  }

  /// The collector's Unix socket.
  public var path: String
  /// The format of the events.
  public var format = Format.jsonl
  /// Whether a collector that receives JSON lines acknowledges events with `{"ack": CURSOR}`.
  public var acknowledges = false
  /// Whether crashd applies the privacy rules to events before it sends them.
  public var scrubs = true
  /// Selects the reports that the collector receives.
  public var filter = ReportFilter()

  /// Makes the settings of a collector at a path.
  public init(path: String) { self.path = path }

  /// The prefix of the subscriber names of collectors.
  ///
  /// crashd rejects a client's subscription with a name that has this prefix.
  static let subscriberPrefix = "forward "
  /// The subscriber name with which the store stores the collector's cursor.
  var subscriber: String { Self.subscriberPrefix + path }

  /// Whether an event is treated as delivered only after the collector has acknowledged it.
  var waitsForAcknowledgement: Bool { format == .varlink || acknowledges }
}

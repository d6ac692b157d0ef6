public import CrashProtocol

/// The settings of a collector: a program that listens on a Unix socket, to which crashd sends its events.
public struct ForwardSettings: Sendable, Hashable {
  /// The format in which crashd sends events to the collector.
  public enum Format: String, Sendable, CaseIterable {
    /// Each event is one line of JSON.
    case jsonl
    /// Each event is a call of `io.crashshield.Collector.Report`, whose reply acknowledges the event.
    case varlink
  }

  /// The path of the Unix socket on which the collector listens.
  public var path: String
  /// The format of the events.
  public var format = Format.jsonl
  /// For the format `jsonl`: whether the collector acknowledges events, with lines of the form `{"ack": CURSOR}`.
  public var acknowledges = false
  /// Whether crashd applies the privacy rules to events before it sends them.
  public var scrubs = true
  /// The filter that selects the reports that the collector receives.
  public var filter = ReportFilter()

  /// Makes the settings of a collector at a path.
  public init(path: String) { self.path = path }

  /// The prefix of the names under which the store saves collectors as subscribers.
  ///
  /// A client cannot subscribe with a name that has this prefix.
  static let subscriberPrefix = "forward "
  /// The name under which the store saves the collector's cursor.
  var subscriber: String { Self.subscriberPrefix + path }

  /// Whether crashd treats an event as delivered only after the collector has acknowledged it.
  var waitsForAcknowledgement: Bool { format == .varlink || acknowledges }
}

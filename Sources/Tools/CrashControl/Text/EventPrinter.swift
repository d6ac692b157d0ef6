public import CrashClient
import CrashProtocol
internal import CrashReport

/// Formats the events of `follow` as text.
public struct EventPrinter: Sendable {
  private let style: JSONStyle
  private let isFull: Bool
  private let terminal: Terminal
  /// The ids of reports whose lines were already printed.
  ///
  /// If a report arrives again with more threads, its line is not printed a second time.
  private var printed: [String] = []
  private static let printedLimit = 256

  /// Creates a printer.
  public init(style: JSONStyle, isFull: Bool, terminal: Terminal) {
    self.style = style
    self.isFull = isFull
    self.terminal = terminal
  }

  /// Returns the lines to print for an event; nil if the event is not printed.
  /// - Throws: `EncodingError` if the report cannot be written as JSON.
  public mutating func text(_ event: EventStream.Event) throws -> String? {
    guard case .report(let received, let cursor) = event else { return nil }
    if style != .off {
      return try style.text(JSONValue.object(["cursor": .string(cursor), "report": received.json]))
    }
    if isFull { return ReportText.text(received, terminal: terminal) + "\n" }
    guard !printed.contains(received.report.id) else { return nil }
    printed.append(received.report.id)
    if printed.count > Self.printedLimit { printed.removeFirst() }
    return Listings.line(received, terminal: terminal)
  }
}

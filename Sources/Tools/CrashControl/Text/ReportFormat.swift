public import CrashProtocol
internal import CrashReport

/// The output format of a report.
public enum ReportFormat: String, Sendable, CaseIterable {
  /// Text for people, without color.
  case text
  /// JSON as crashd sent it.
  case json
  /// Text in Apple's `.crash` format.
  case apple
  /// One self-contained HTML page.
  case html
  /// A minidump, with the registers of the crashed threads, their stacks and the images.
  case minidump

  /// Selects the format by the extension of a file's name.
  ///
  /// Fails for any other name.
  public init?(fileName: String) {
    guard let dot = fileName.lastIndex(of: "."), !fileName[dot...].contains("/") else { return nil }
    switch fileName[fileName.index(after: dot)...].lowercased() {
    case "txt", "text", "log": self = .text
    case "json": self = .json
    case "crash", "ips": self = .apple
    case "html", "htm": self = .html
    case "dmp", "mdmp", "minidump": self = .minidump
    default: return nil
    }
  }

  /// Whether the format is binary, and must not be written to a terminal.
  public var isBinary: Bool { self == .minidump }

  /// Returns the report's bytes in this format.
  ///
  /// Only a minidump contains the stacks.
  public func bytes(
    _ received: ReceivedReport, stacks: [RecordedStack] = [], clock: Clock = Clock()
  ) throws -> [UInt8] {
    let times = clock.times(withAge: false)
    return switch self {
    case .text:
      Array(
        TextRenderer(width: 120, verbose: true, source: SourceFiles.lookup(for: received.report), times: times)
          .render(received.report).utf8)
    case .json: Array(try JSONStyle.pretty.text(received.json).utf8)
    case .apple: Array(AppleRenderer().render(received.report).utf8)
    case .html:
      Array(
        HTMLRenderer(source: SourceFiles.lookup(for: received.report), times: times).render(received.report).utf8)
    case .minidump:
      MinidumpRenderer().render(
        received.report,
        stacks: Dictionary(
          stacks.map { ($0.tid, MinidumpRenderer.Memory(start: $0.start, bytes: $0.bytes)) },
          uniquingKeysWith: { first, _ in first }))
    }
  }
}

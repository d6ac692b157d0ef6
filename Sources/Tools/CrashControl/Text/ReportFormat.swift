public import CrashProtocol
internal import CrashReport

/// In which form a report is given.
public enum ReportFormat: String, Sendable, CaseIterable {
  /// For people, without colour.
  case text
  /// As crashd sent it.
  case json
  /// Apple's `.crash` text.
  case apple
  /// A page that needs nothing else.
  case html
  /// A minidump, with the registers of the crashed threads, their stacks and the images.
  case minidump

  /// The form that a file's name asks for by its extension; nil for any other name.
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

  /// Whether it is for programs only: it would spoil a terminal.
  public var isBinary: Bool { self == .minidump }

  /// The report's bytes in this form; only a minidump has the stacks.
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

import CrashProtocol
import CrashReport

/// The summary of a crash: the fields of the plain JSON body, which templates also use as placeholders.
struct WebhookSummary {
  /// A field.
  ///
  /// Templates use the name as `${name}`. The value is a string or a number.
  typealias Field = (name: String, value: JSONValue?)

  /// The maximum length of a string.
  ///
  /// Chat services reject long bodies, and a mangled name can have thousands of characters.
  static let textLimit = 1_000
  /// The maximum number of frames in the backtrace.
  static let stackLimit = 16

  var report: CrashReport
  var host: String?
  /// The environment, such as `production`.
  ///
  /// If nil, the program's annotation `environment` is used.
  var environment: String?

  /// All fields, in the order in which the documentation lists them.
  var fields: [Field] { (crash + program + analysis).map { ($0.name, Self.cut($0.value)) } }

  /// The names of all fields.
  static let names = [
    "id", "time", "headline", "host", "environment", "release", "program", "pid", "uid", "unit", "executable",
    "build_id", "signal", "reason", "cause", "sentence", "group", "title", "function", "file", "line", "place", "stack",
    "route",
    "request_id", "trace_id", "containment",
  ]

  // The fields are in several arrays, because type-checking a single array takes too long.
  private var crash: [Field] {
    [
      ("id", .string(report.id)), ("time", .string(report.time)), ("headline", .string(report.headline)),
      ("host", .text(host)), ("environment", .text(environment ?? report[.environment])),
      ("release", .text(report[.release] ?? report.annotations["version"])),
    ]
  }

  private var program: [Field] {
    let process = report.process
    return [
      ("program", .text(process.name)), ("pid", .int(process.pid)), ("uid", .int(process.uid)),
      ("unit", .text(process.unit)), ("executable", .text(process.executable)), ("build_id", .text(process.buildID)),
    ]
  }

  private var analysis: [Field] {
    let frame = report.blamedFrame
    return [
      ("signal", .text(report.signal.name)), ("reason", .text(report.reason)),
      ("cause", .text(report.diagnosis.cause.rawValue)), ("sentence", .text(report.diagnosis.sentence)),
      ("group", .text(report.group.key)), ("title", .text(report.group.title)), ("function", .text(frame?.name)),
      ("file", .text(frame?.file)), ("line", .number(frame?.line)), ("place", .text(frame.flatMap(Self.place))),
      ("stack", .text(report.stackText(limit: Self.stackLimit))), ("route", .text(report.request?.operation)),
      ("request_id", .text(report.request?.id)), ("trace_id", .text(report.request?.traceID)),
      ("containment", .text(report.containmentText)),
    ]
  }

  /// The body that is sent if there is no template.
  ///
  /// Fields without a value are omitted.
  var json: JSONValue {
    .object(
      Dictionary(
        [("event", .string("crash"))] + fields.compactMap { field in field.value.map { (field.name, $0) } },
        uniquingKeysWith: { first, _ in first }))
  }

  private static func place(_ frame: CrashReport.Frame) -> String? {
    frame.file.map { file in file + (frame.line.map { ":\($0)" } ?? "") }
  }

  private static func cut(_ value: JSONValue?) -> JSONValue? {
    guard case .string(let text)? = value else { return value }
    let scalars = text.unicodeScalars
    guard let end = scalars.index(scalars.startIndex, offsetBy: textLimit, limitedBy: scalars.endIndex),
      end < scalars.endIndex
    else { return value }
    return .string(String(scalars[..<end]) + "…")
  }
}

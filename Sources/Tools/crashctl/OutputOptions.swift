public import ArgumentParser
import CrashClient
public import CrashControl
import CrashProtocol
import Glibc
import LinuxSystem

extension JSONStyle: ExpressibleByArgument {}
extension ColorUse: ExpressibleByArgument {}

/// Options of every verb that prints reports or lists.
struct OutputOptions: ParsableArguments, Printing {
  @Option(
    name: .customLong("json"), help: ArgumentHelp("Print JSON: pretty, short or off", valueName: "mode"),
    completion: .custom { _, _, _ in Completions.json })
  var jsonMode = JSONStyle.off

  @Flag(name: .customShort("j"), help: "Print JSON: pretty on a terminal, else short")
  var isJSON = false

  @Flag(name: .customLong("utc"), help: "Show times in UTC instead of the local zone")
  var isUTC = false

  @Option(help: ArgumentHelp("Use color: auto, always or never", valueName: "when"))
  var color = ColorUse.auto

  @Flag(name: .customLong("exit-zero"), help: "Exit with 0 even if nothing is found")
  var exitsZero = false

  @Flag(name: .customLong("no-pager"), help: "Do not pipe the output into a pager")
  var hasNoPager = false

  var output: OutputOptions { self }
}

/// The options that determine how a verb prints.
protocol Printing {
  var output: OutputOptions { get }
}

extension Printing {
  var json: JSONStyle {
    guard output.isJSON, output.jsonMode == .off else { return output.jsonMode }
    return isatty(STDOUT_FILENO) == 1 ? .pretty : .short
  }

  var environment: [String: String] { processEnvironment() }

  var terminal: Terminal {
    var terminal = Terminal(descriptor: STDOUT_FILENO, environment: environment, color: output.color)
    terminal.clock.isUTC = output.isUTC
    return terminal
  }

  func show(_ text: String) throws(Failure) {
    if terminal.width == nil || output.hasNoPager { return try Output.write(text) }
    try Pager.show(text, environment: environment)
  }

  /// Prints text that the closure writes in pieces, through a pager if the output is a terminal.
  func show(_ body: (_ put: Pager.Writer) throws(Failure) -> Void) throws(Failure) {
    if terminal.width == nil || output.hasNoPager {
      return try body { (text: String) throws(Failure) in try Output.write(text) }
    }
    try Pager.show(environment: environment, body)
  }

  /// Prints a list.
  ///
  /// On a terminal, a note about the items that are not shown follows the list. If standard output is not a terminal,
  /// the note goes to standard error.
  func show(_ list: String, rest: String?, legend: Bool) throws(Failure) {
    let isLine = json == .off && terminal.width != nil && legend
    let line = rest.map { terminal.styled($0, .dim) + "\n" }
    if json == .off { try show(list + (isLine ? line ?? "" : "")) }
    if let rest, !isLine { Output.complain(rest) }
  }

  /// Returns the value as JSON.
  func text(_ value: some Encodable) throws(Failure) -> String {
    do { return try json.text(value) } catch { throw Failure(.unreachable, "cannot write JSON: \(error)") }
  }

  /// Returns the report in a format.
  func bytes(_ received: ReceivedReport, as format: ReportFormat) throws(Failure) -> [UInt8] {
    do {
      return try format.bytes(received, clock: terminal.clock)
    } catch {
      throw Failure(.unreachable, "cannot write the report as \(format.rawValue): \(error)")
    }
  }

  func show(json value: some Encodable) throws { try Output.write(json.text(value)) }
}

/// Options of the verbs that print lists.
struct LegendOptions: ParsableArguments {
  @Flag(name: .customLong("no-legend"), help: "Do not print column titles")
  var hasNoLegend = false

  @Flag(name: .shortAndLong, help: "Print full times, one line per item and all columns, also on a terminal")
  var verbose = false

  /// Returns the properties of the terminal, with the layout that these options select.
  func terminal(_ options: some Printing) -> Terminal {
    var terminal = options.terminal
    if verbose { terminal.isBrief = false }
    return terminal
  }
}

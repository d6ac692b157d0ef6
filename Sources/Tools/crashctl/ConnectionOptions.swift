public import ArgumentParser
import CrashClient
public import CrashControl
import CrashProtocol
import Glibc
import LinuxSystem

extension JSONStyle: ExpressibleByArgument {}

/// Options of every verb that calls crashd.
struct ConnectionOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp("Connect to this socket (default: $CRASHD_SOCKET, the system's, the user's)", valueName: "path"),
    completion: .file())
  var socket: String?

  @Option(help: ArgumentHelp("Print JSON: pretty, short or off", valueName: "mode"))
  var json = JSONStyle.off

  @Flag(name: .customLong("no-pager"), help: "Do not pipe the output into a pager")
  var hasNoPager = false

  var client: CrashClient {
    CrashClient(socketPath: SocketPath.find(option: socket, environment: environment))
  }

  var environment: [String: String] { processEnvironment() }

  var terminal: Terminal { Terminal(descriptor: STDOUT_FILENO, environment: environment) }

  /// The result of a call.
  /// - Throws: `Failure` with the reason.
  func ask<Result>(_ call: (CrashClient) throws(ClientError) -> Result) throws(Failure) -> Result {
    do throws(ClientError) {
      return try call(client)
    } catch {
      throw Failure(error, of: client)
    }
  }

  func show(_ text: String) throws(Failure) {
    if terminal.width == nil || hasNoPager { return try Output.write(text) }
    try Pager.show(text, environment: environment)
  }

  /// Prints a text that comes in pieces.
  func show(_ body: (_ put: Pager.Writer) throws(Failure) -> Void) throws(Failure) {
    if terminal.width == nil || hasNoPager {
      return try body { (text: String) throws(Failure) in try Output.write(text) }
    }
    try Pager.show(environment: environment, body)
  }

  /// Prints a list, and the note about its missing rest: below it on a terminal, else on standard error.
  func show(_ list: String, rest: String?, legend: Bool) throws(Failure) {
    let isLine = json == .off && terminal.width != nil && legend
    let line = rest.map { terminal.styled($0, .dim) + "\n" }
    if json == .off { try show(list + (isLine ? line ?? "" : "")) }
    if let rest, !isLine { Output.complain(rest) }
  }

  func show(json value: some Encodable) throws { try Output.write(json.text(value)) }
}

/// For lists.
struct LegendOptions: ParsableArguments {
  @Flag(name: .customLong("no-legend"), help: "Do not print column titles")
  var hasNoLegend = false
}

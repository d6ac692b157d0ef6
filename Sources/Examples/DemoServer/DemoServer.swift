import CrashShield
import CrashShieldGuards
import CrashShieldLogging
import Dispatch
import Glibc
import Logging

/// A small HTTP shop with four bugs, whose reports show what crashd reports contain.
@main
struct DemoServer {
  static let version = "1.4.2"

  private static let help = """
    usage: DemoServer
    A small shop over HTTP, on a free port of 127.0.0.1, which it prints, or on the socket of a supervisor such as
    crashctl serve. Four of its routes crash it: /cart/array-index, /user/force-unwrap, /native/null-write and
    /catalog/stack-overflow.

    """

  static func main() async throws {
    if CommandLine.arguments.count > 1 {
      let isAsked = ["-h", "--help"].contains(CommandLine.arguments[1])
      print(isAsked ? help : "DemoServer takes no arguments: see --help", terminator: isAsked ? "" : "\n")
      exit(isAsked ? 0 : 2)
    }
    Shield.start(name: "demo-server", configuration: .init(tags: ["version": version]))
    // The demo does not print log lines, because its terminal is for the reports. A server would combine this handler
    // with its own handler in a MultiplexLogHandler.
    LoggingSystem.bootstrap { label in BreadcrumbLogHandler(label: label) }
    await askGuards()

    let server = try await HTTPServer.bind(host: "127.0.0.1", port: 0, to: Shop().respond)
    let serving = Task { try await server.run() }
    let stop = stopSignal { serving.cancel() }
    defer { stop.cancel() }
    print("listening on 127.0.0.1:\(server.port)")
    fflush(nil)
    try await serving.value
  }

  /// Runs the guard self-test, which shows whether guards absorb faults on this version of Swift.
  ///
  /// `crashctl doctor PID` shows the result.
  private static func askGuards() async {
    let logger = Logger(label: "guards")
    for result in await Shield.selfTest() {
      if case .fails(let how) = result.verdict { logger.error("\(result.kind.name), \(result.check): \(how)") }
    }
  }

  /// Calls `stop` on SIGTERM, instead of ending the process at once.
  private static func stopSignal(_ stop: @escaping @Sendable () -> Void) -> any DispatchSourceSignal {
    signal(SIGTERM, SIG_IGN)
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    source.setEventHandler(handler: stop)
    source.resume()
    return source
  }
}

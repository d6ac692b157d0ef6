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

    let (stops, source) = await stopSignals()
    defer { source.cancel() }
    let server = try await HTTPServer.bind(host: "127.0.0.1", port: 0, to: Shop().respond)
    let serving = Task { try await server.run() }
    let stopping = Task { for await _ in stops { serving.cancel() } }
    defer { stopping.cancel() }
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

  /// Returns a stream with an element for each SIGTERM from now on, and the source of its elements.
  ///
  /// Dispatch registers a source asynchronously. A server that begins to serve before this registration could lose the
  /// signal, so this function waits for the registration. Until then, SIGTERM ends the process at once.
  private static func stopSignals() async -> sending (AsyncStream<Void>, any DispatchSourceSignal) {
    let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
    let (signals, continuation) = AsyncStream<Void>.makeStream()
    source.setEventHandler { continuation.yield() }
    await withCheckedContinuation { registered in
      source.setRegistrationHandler { registered.resume() }
      source.resume()
    }
    return (signals, source)
  }
}

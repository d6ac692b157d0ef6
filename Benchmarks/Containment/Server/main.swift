// A Hummingbird server, to measure what each mode of containment costs its requests: containment-server MODE PORT
import CrashShield
import Glibc
import Hummingbird
import Logging
import NIOPosix

/// The way in which the server runs each request.
enum Mode: String {
  case plain, context, drain, pool, contain
  case drainPool = "drain-pool"

  var containment: Shield.Containment {
    switch self {
    case .plain, .context: .off
    case .drain: .drain()
    case .pool, .drainPool: .drain(pool: true)
    case .contain: .contain(budget: 16)
    }
  }
}

/// Runs each request of the inner responder in the way that `mode` names.
struct MeasuredResponder<Inner: HTTPResponder>: HTTPResponder {
  typealias Context = Inner.Context
  let mode: Mode
  let inner: Inner

  func respond(to request: Request, context: Inner.Context) async throws -> Response {
    // Only one task at a time uses the context, because this task waits for the task of the contained request.
    nonisolated(unsafe) let context = context
    switch mode {
    case .plain, .pool:
      return try await inner.respond(to: request, context: context)
    case .context:
      return try await Shield.withRequest("GET /:name") { try await inner.respond(to: request, context: context) }
    case .drain, .drainPool, .contain:
      return try await Shield.withContainedRequest("GET /:name") {
        try await inner.respond(to: request, context: context)
      }
    }
  }
}

let arguments = CommandLine.arguments
guard arguments.count == 3, let mode = Mode(rawValue: arguments[1]), let port = Int(arguments[2]) else {
  fatalError("usage: containment-server MODE PORT")
}
if mode != .plain {
  var configuration = Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool")
  configuration.containment = mode.containment
  let status = Shield.start(configuration: configuration)
  guard status.isStarted, status.containmentObstacle == nil else { fatalError("\(status)") }
}

let router = Router()
// `fast` only computes. `io` sleeps, like a request handler that waits for a database.
router.get("fast") { _, _ in "ok" }
router.get("io") { _, _ in
  try await Task.sleep(for: .milliseconds(20))
  return "ok"
}
router.get("yield") { _, _ in
  for _ in 0..<10 { await Task.yield() }
  return "ok"
}
var logger = Logger(label: "containment-server")
logger.logLevel = .error
let application = Application(
  responder: MeasuredResponder(mode: mode, inner: router.buildResponder()),
  configuration: .init(address: .hostname("127.0.0.1", port: port)),
  onServerRunning: { _ in
    print("running")
    fflush(nil)
  },
  eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 2)), logger: logger)
try await application.run()

// unsupported-host: calls each library on an unsupported platform. Exits with 0 if all results are right. Otherwise
// names the first wrong result.
import CrashReport
import CrashShield
import CrashShieldCasts
import CrashShieldExecutorChecks
import CrashShieldFoundation
import CrashShieldGuardPages
import CrashShieldGuards
import CrashShieldLifecycle
import CrashShieldLogging
import CrashShieldMetrics
import CrashShieldSockets
import Foundation
import Logging
import ServiceLifecycle

func check(_ what: String, _ isSo: Bool) {
  if isSo { return }
  FileHandle.standardError.write(Data("unsupported-host: \(what) is wrong\n".utf8))
  exit(1)
}

final class Session: Sendable {
  let number = 7
}

LoggingSystem.bootstrap { BreadcrumbLogHandler(label: $0) }
let logger = Logger(label: "host")

// Starting the shield has no effect on an unsupported platform: it captures no crashes.
let status = Shield.start(name: "host", release: "host@1", environment: "test") { $0.log(to: logger) }
check("the start", !status.isStarted && status.startError == .unsupportedPlatform && status.connection == nil)
do throws(Shield.StartError) {
  try Shield.startOrThrow()
  check("the throwing start", false)
} catch {
  check("the error of the throwing start", error == .unsupportedPlatform)
}
check("a tag", !Shield.setTag("region", to: "eu") && !Shield.setUser(id: "u"))
Shield.addBreadcrumb("nothing", level: .info, category: "host", metadata: ["a": "b"])
let answer = await Shield.withRequest("GET /", id: "1", tags: ["a": "b"]) { await Task { 6 }.value }
check("a request", answer + Shield.withRequest("job") { 7 } == 13 && Shield.status.findsRequests == nil)
check("the last crash", Shield.lastCrash == nil)
let lastCrash = await Shield.lastCrash(within: .seconds(60))
check("the awaited last crash", lastCrash == nil)

check("the inherited sockets", InheritedSocket.all().isEmpty)

// Protecting a class fails, and reports why protection is unavailable.
check("the quarantine", Shield.danglingUnavailableReason != nil && Shield.danglingBytes == 0)
do throws(Shield.ProtectionError) {
  try Shield.protect(Session.self)
  check("a protection", false)
} catch {
  check("the error of a protection", "\(error)".contains("Linux"))
}
check("the selection", (try? Shield.protect(.ownClasses)) == nil && !Shield.unprotect(Session.self))
Shield.setDanglingBudget(bytes: 1)
Shield.drainQuarantine()
check("guard pages", GuardPages.unavailableReason != nil && GuardPages.statistics.allocated == 0)
check("casts", Shield.castsUnavailableReason != nil)
check("executor checks", Shield.executorChecksUnavailableReason != nil)

// Isolated work runs, but its traps are not contained.
check("containment", Shield.status.containmentObstacle != nil && Shield.containedFaultCount == 0)
let sum = try await Shield.isolated { () async -> Int in [1, 2, 3].reduce(0, +) }
check("isolated work", sum == 6)
func synchronousSum() throws -> Int { try Shield.isolated { [1, 2, 3].reduce(0, +) } }
check("synchronous isolated work", try synchronousSum() == 6)

// Guards work as on supported platforms, because they do not need a signal handler.
let parts = ["a", "b"]
check("a guard", (parts[shielded: 2] ?? "none") == "none")
check("its record", Shield.guardIncidents.map(\.kind) == [.index])
Shield.setMode(.off, for: .cast)
check("a mode", Shield.mode(for: .cast) == .off)
let reading = Task {
  var count = 0
  for await _ in Shield.incidents { count += 1 }
  return count
}
reading.cancel()
let incidents = await reading.value
check("incidents", incidents == 0)

// The libraries that integrate the shield with other packages.
ShieldMetrics().update()
let shield = ShieldService(metrics: ShieldMetrics(), logger: logger)
let group = ServiceGroup(services: [shield], logger: logger)
let running = Task { try await group.run() }
await group.triggerGracefulShutdown()
try await running.value
check("a level of a report", CrashReport.Breadcrumb.Level.all.count == 7)
print("unsupported-host: all libraries have no effect, as expected")

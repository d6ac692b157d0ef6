@testable import CrashShield
@testable import CrashShieldGuards
import Logging
import Synchronization
import Testing

@testable import CrashShieldLogging

@Suite("Breadcrumbs from swift-log")
struct BreadcrumbLogHandlerTests {
  @Test("a log line's breadcrumb has level, label and message")
  func line() {
    let trail = Trail()
    trail.logger().info("checkout")
    #expect(trail.texts == ["info shop: checkout"])
  }

  @Test("log lines below the handler's level leave no breadcrumb")
  func level() {
    let trail = Trail()
    var logger = trail.logger()
    logger.debug("not this")
    logger.logLevel = .debug
    logger.debug("this")
    #expect(trail.texts == ["debug shop: this"])
  }

  @Test("a breadcrumb has only the log metadata of the named keys")
  func metadata() {
    let trail = Trail()
    var logger = trail.logger()
    logger[metadataKey: "request-id"] = "7F3A"
    logger[metadataKey: "authorization"] = "Bearer secret"
    logger.warning("slow", metadata: ["card": "4111 1111"])
    #expect(trail.texts == ["warning shop: slow request-id=7F3A"])
  }

  @Test("a log line's own metadata takes precedence over the task's, and the task's metadata over the logger's")
  func strongest() {
    let trail = Trail()
    let provider = Logger.MetadataProvider { ["request-id": "task", "hb.request.id": "task"] }
    var logger = trail.logger(provider: provider)
    logger[metadataKey: "request-id"] = "logger"
    logger[metadataKey: "hb.request.id"] = "logger"
    logger.info("x", metadata: ["request-id": "line"])
    #expect(trail.texts == ["info shop: x hb.request.id=task request-id=line"])
  }

  @Test("loggers are values: metadata set on a copy does not change the original")
  func values() {
    let trail = Trail()
    let first = trail.logger()
    var second = first
    second[metadataKey: "request-id"] = "2"
    first.info("x")
    second.info("x")
    #expect(trail.texts == ["info shop: x", "info shop: x request-id=2"])
  }

  @Test("the breadcrumb of a logged error has the error's type, but not its text")
  func error() {
    struct PaymentFailed: Error { var card = "4111 1111" }
    let trail = Trail()
    trail.logger().error("payment", error: PaymentFailed())
    #expect(trail.texts == ["error shop: payment error=PaymentFailed"])
  }

  @Test("without a started shield a log line leaves no breadcrumb")
  func notStarted() async {
    await #expect(processExitsWith: .success) {
      var logger = Logger(label: "shop", factory: { BreadcrumbLogHandler(label: $0) })
      logger.logLevel = .trace
      logger.critical("this is not kept")
    }
  }
}

@Suite("Incidents in swift-log")
struct IncidentLogTests {
  @Test("a logged incident is a warning with call site and count, but without values")
  func incident() throws {
    let trail = Trail()
    let incident = ShieldIncident(
      kind: .index, mode: .absorb, reason: "index 7 of 3", fileID: "Shop/Cart.swift", line: 12, count: 10, thread: 4,
      frames: [])
    incident.log(to: trail.logger(showing: ["shield.kind", "shield.reason", "shield.site", "shield.count"]))
    #expect(
      trail.texts == [
        "warning shop: the shield absorbed a fault shield.count=10 shield.kind=index shield.reason=index 7 of 3 "
          + "shield.site=Shop/Cart.swift:12"
      ])
  }

  @Test(
    "an attach is logged at level info, an unreachable crashd at notice, and a refusal at warning",
    arguments: [
      (Shield.Connection.attached, "info"), (.unreachable("no such file"), "notice"),
      (.refused("too many rings"), "warning"),
    ])
  func status(connection: Shield.Connection, level: String) {
    let trail = Trail()
    Shield.Status(connection: connection).log(to: trail.logger(showing: ["shield.reason"]))
    #expect(trail.texts.count == 1)
    #expect(trail.texts.first?.hasPrefix("\(level) shop: ") == true)
    switch connection {
    case .attached: break
    case .unreachable(let reason), .refused(let reason): #expect(trail.texts.first?.hasSuffix(reason) == true)
    }
  }

  @Test("a failed start is logged as a warning with its reason")
  func failedStart() {
    let trail = Trail()
    var status = Shield.status
    status.startError = .badArgument("name contains a NUL")
    status.log(to: trail.logger(showing: ["shield.reason"]))
    #expect(trail.texts.first?.hasPrefix("warning shop: crashes of this process are not reported") == true)
    #expect(trail.texts.first?.hasSuffix("name contains a NUL") == true)
  }

  @Test("the warning about a second start does not state that crashes are lost")
  func secondStart() {
    let trail = Trail()
    var status = Shield.status
    status.isStarted = true
    status.startError = .alreadyStarted
    status.log(to: trail.logger(showing: ["shield.reason"]))
    #expect(trail.texts.first?.hasPrefix("warning shop: another start of the shield had no effect") == true)
    #expect(trail.texts.first?.hasSuffix("it is started already") == true)
  }
}

/// Collects the breadcrumbs that a handler records.
private final class Trail: Sendable {
  private let kept = Mutex<[String]>([])

  var texts: [String] { kept.withLock { $0 } }

  func logger(
    showing keys: Set<String> = BreadcrumbLogHandler.requestIdentifiers, provider: Logger.MetadataProvider? = nil
  ) -> Logger {
    Logger(
      label: "shop",
      factory: { label in
        BreadcrumbLogHandler(label: label, shownMetadata: keys, metadataProvider: provider) {
          text, level, category, data in
          let pairs = data.sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
          self.kept.withLock { $0.append("\(level) \(category): \(text)\(pairs)") }
        }
      })
  }
}

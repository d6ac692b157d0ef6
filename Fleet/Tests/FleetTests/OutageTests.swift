import Logging
import Testing

@testable import FleetServer
@testable import FleetStore

@Suite("Outage")
struct OutageTests {
  private struct Recorder: LogHandler {
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.trace
    let lines: TestLines

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
      get { metadata[key] }
      set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
      let facts = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }.joined()
      lines.add("\(event.level): \(event.message)\(facts)")
    }
  }

  @Test("an outage has one line when it begins and one when it ends, however many calls fail")
  func lines() {
    let (lines, clock) = (TestLines(), TestClock())
    let log = Logger(label: "test") { _ in Recorder(lines: lines) }
    let outage = Outage(log: log) { clock.now }
    outage.succeed()
    for _ in 0..<5 { outage.fail(.unreachable("no route")) }
    outage.fail(.unreachable("no server"))
    clock.advance(.seconds(90))
    outage.succeed()
    outage.succeed()
    outage.fail(.full(state: "53100", "disk full"))
    #expect(
      lines.all == [
        "warning: \(Outage.begin) reason=cannot reach the database: no route",
        "notice: \(Outage.end) failures=6 seconds=90",
        "warning: \(Outage.begin) reason=the database has no room (SQLSTATE 53100): disk full",
      ])
  }

  @Test("an outage of a database that still answers ends only when it stores again")
  func readable() {
    let (lines, clock) = (TestLines(), TestClock())
    let outage = Outage(log: Logger(label: "test") { _ in Recorder(lines: lines) }) { clock.now }
    outage.fail(.unreplicated)
    outage.fail(.unreachable("no route"))
    outage.succeed()
    #expect(lines.all.count == 1)
    outage.succeed(hasStored: true)
    #expect(lines.all.last == "notice: \(Outage.end) failures=2 seconds=0")
  }

  @Test("a token look-up ends an outage, as a stored batch does")
  func lookUp() async throws {
    let test = try await TestStore()
    let token = try await test.store.addToken(tenant: "shop", name: "hosts").text
    let lines = TestLines()
    let outage = Outage(log: Logger(label: "test") { _ in Recorder(lines: lines) })
    outage.fail(.unreachable("no route"))
    _ = try await TokenCache(test.store, outage, unknownLimit: 1).tenant("Bearer \(token)")
    #expect(lines.all.count == 2 && lines.all.last?.hasPrefix("notice: \(Outage.end)") == true)
  }

  @Test("a conflict, a full queue and a refused statement are no outage")
  func others() {
    let lines = TestLines()
    let outage = Outage(log: Logger(label: "test") { _ in Recorder(lines: lines) })
    #expect(!outage.fail(.busy(limit: 1)))
    #expect(!outage.fail(.conflict(state: "40001", "x")))
    #expect(!outage.fail(.refused(state: "22003", "x")))
    #expect(lines.all.isEmpty)
  }

  @Test("clients receive fixed texts without the messages of libpq")
  func texts() {
    let secret = "connection to 10.0.0.5 as fleet failed"
    let errors: [FleetError] = [
      .unreachable(secret), .conflict(state: "1", secret), .full(state: "1", secret), .schema(secret),
      .refused(state: "1", secret),
    ]
    for error in errors { #expect(!Refusal(error).text.contains("10.0.0.5")) }
    #expect(Refusal(.unreachable(secret)).code == .database && Refusal(.busy(limit: 1)).code == .busy)
  }
}

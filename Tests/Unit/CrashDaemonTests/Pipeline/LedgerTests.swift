import TestKit
import Testing

@testable import CrashDaemon

@Suite("The ledger of counts and log lines")
struct LedgerTests {
  /// Two peers of different users.
  ///
  /// The ledger limits the log lines for each user separately.
  private static let (first, second) = (Peer(pid: 1, uid: 1000), Peer(pid: 2, uid: 1001))

  @Test("eight reports of a user are logged at once; a later line has the number of the reports that were not")
  func reports() {
    let log = TestLog()
    let ledger = Ledger(logger: log.logger, limits: Limits())
    let beginning = ContinuousClock.now
    for index in 0..<100 { ledger.report("id\(index)", of: Self.first, process: "shop", sentence: "It crashed.") }
    // crashd logs eight reports at once. If the machine stalls during this loop, crashd logs one more report for each
    // second of the stall.
    let seconds = Int((ContinuousClock.now - beginning) / .seconds(1))
    let logged = log.lines.count
    #expect((8...9 + seconds).contains(logged) && ledger.stored == 100)
    for index in 0..<8 {
      #expect(log.lines[index] == "info: stored id\(index) of 'shop' (pid 1, uid 1000): It crashed.")
    }
    ledger.report("other", of: Self.second, process: "till", sentence: "It crashed.")
    #expect(log.lines.count == logged + 1)
    // Reports until a further line of this user is logged. This line has the number of the reports that were not
    // logged.
    while log.lines.count == logged + 1 {
      ledger.report("late", of: Self.first, process: "shop", sentence: "It crashed.")
    }
    let skipped = log.lines.compactMap {
      $0.wholeMatch(of: /.*\(and (\d+) earlier lines dropped\)/).flatMap { Int($0.output.1) }
    }
    #expect(skipped.reduce(log.lines.count, +) == ledger.stored)
  }

  @Test("refusals and losses are logged once a second per user, and all are counted")
  func refusals() {
    let log = TestLog()
    let ledger = Ledger(logger: log.logger, limits: Limits())
    let beginning = ContinuousClock.now
    for _ in 0..<50 {
      ledger.refuse("attach", from: Self.first, because: "no hello")
      ledger.lose(["record": 2], of: Self.first, process: "shop")
    }
    let seconds = Int((ContinuousClock.now - beginning) / .seconds(1))
    #expect((2...4 + 2 * seconds).contains(log.lines.count))
    #expect(ledger.refusals == ["attach": 50] && ledger.losses == ["record": 100])
  }

  @Test("refusals of many different users are counted, and the log stays bounded")
  func manyUsers() {
    let log = TestLog()
    var limits = Limits()
    limits.rememberedRefusals = 4
    let ledger = Ledger(logger: log.logger, limits: limits)
    let beginning = ContinuousClock.now
    for uid in 0..<1_000 { ledger.refuse("attach", from: Peer(pid: 1, uid: UInt32(uid)), because: "no hello") }
    let seconds = Int((ContinuousClock.now - beginning) / .seconds(1))
    #expect((4...8 + 4 * seconds).contains(log.lines.count) && ledger.refusals == ["attach": 1_000])
  }

  @Test("F11: a user with many uids uses up neither the shares nor the log lines of other users")
  func subordinates() throws {
    let directory = try TestDirectory()
    var limits = Limits()
    limits.rememberedRefusals = 32
    limits.accounts = UserAccounts(
      ranges: try directory.write(Array("54021:100000:65536\n".utf8), to: "subuid"), users: "/nowhere")
    let log = TestLog()
    let ledger = Ledger(logger: log.logger, limits: limits)
    for uid in 100_000..<UInt32(100_100) { ledger.refuse("hello", from: Peer(pid: 1, uid: uid), because: "short") }
    ledger.refuse("hello", from: Peer(pid: 1, uid: 1_001), because: "short")
    #expect(ledger.refusals(of: 100_000) == ["hello": 1] && ledger.refusals(of: 100_050).isEmpty)
    #expect(ledger.refusals(of: 1_001) == ["hello": 1] && ledger.refusals == ["hello": 101])
    #expect(log.contains("refused hello from pid 1, uid 1001"))
  }

  @Test("F17: counters of losses saturate, and one ring reports at most 2^32 losses of a kind")
  func saturation() {
    let ledger = Ledger(logger: TestLog.logger, limits: Limits())
    ledger.lose(["noSlot": .max], of: Self.first, process: "shop")
    #expect(ledger.losses == ["noSlot": Ledger.mostLosses])
    ledger.lose(["noSlot": .min], of: Self.first, process: "shop")
    #expect(ledger.losses == ["noSlot": Ledger.mostLosses])
    for _ in 0..<2 { ledger.count(removed: ["age": .max]) }
    #expect(ledger.removals == ["age": .max])
  }
}

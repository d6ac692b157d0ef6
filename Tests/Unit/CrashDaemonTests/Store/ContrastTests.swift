import CrashProtocol
import CrashReport
import DanglingStatistics
import FoundationEssentials
import GRDB
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("The contrast of stored groups: what distinguishes a group's crashes from other crashes")
struct ContrastTests {
  /// A SplitMix64 generator, so that each run simulates the same crashes.
  private struct Random: RandomNumberGenerator {
    var state: UInt64

    mutating func next() -> UInt64 {
      state &+= 0x9e37_79b9_7f4a_7c15
      var mixed = state
      mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
      mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
      return mixed ^ (mixed >> 31)
    }
  }

  /// The properties of a crash in the simulated fleet.
  ///
  /// A planted cause (one that the test simulates) replaces one value.
  private struct Facts {
    var host, pod, route, region, flag, build, argument, hour: Int
    var isTask: Bool
    var uptime_ms: Int

    init(_ random: inout Random) {
      host = Int.random(in: 0..<8, using: &random)
      pod = Int.random(in: 0..<24, using: &random)
      route = Int.random(in: 0..<12, using: &random)
      region = Int.random(in: 0..<4, using: &random)
      flag = Int.random(in: 0..<3, using: &random)
      build = Int.random(in: 0..<3, using: &random)
      argument = Int.random(in: 0..<4, using: &random)
      hour = Int.random(in: 0..<24, using: &random)
      isTask = Bool.random(using: &random)
      uptime_ms = [5_000, 30_000, 600_000, 7_200_000].randomElement(using: &random) ?? 0
    }

    /// As in a fleet, the kernel and the processor depend on the host.
    var kernel: String { "6.\(host % 3).0" }
    var processor: String { host < 5 ? "EPYC" : "Xeon" }
  }

  /// The planted causes: the key and the value that must be ranked first, and how a crash gets the value.
  private static let causes: [(key: String, value: String, plant: @Sendable (inout Facts) -> Void)] = [
    ("host", "web-3", { $0.host = 3 }), ("kernel", "6.1.0", { $0.host = [1, 4, 7][$0.pod % 3] }),
    ("CPU", "Xeon", { $0.host = 5 + $0.pod % 3 }), ("pod", "shop-7", { $0.pod = 7 }),
    ("route", "GET /orders/4", { $0.route = 4 }), ("tag region", "eu-2", { $0.region = 2 }),
    ("tag flag", "on-1", { $0.flag = 1 }), ("build", "b00d02", { $0.build = 2 }),
    ("argument", "--workers=3", { $0.argument = 3 }), ("hour", "13:00 UTC", { $0.hour = 13 }),
    ("thread", "task", { $0.isTask = true }), ("uptime", "below 10 s", { $0.uptime_ms = 5_000 }),
  ]

  private func report(_ number: Int, group: String, name: String, _ facts: Facts) -> CrashReport {
    let hour = facts.hour < 10 ? "0\(facts.hour)" : "\(facts.hour)"
    let time = "2026-11-21T\(hour):00:00.\(String(String(1_000_000 + number % 1_000_000).dropFirst()))Z"
    var process = CrashReport.ProcessIdentity(
      pid: number, uid: 1000, name: name, executable: "/srv/\(name)", buildID: "b00d0\(facts.build)", startTime: time)
    process.commandLine = "/srv/\(name) --workers=\(facts.argument) --listen 0.0.0.0"
    process.uptime_ms = facts.uptime_ms
    var thread = CrashReport.CrashedThread(tid: facts.isTask ? number + 1 : number, name: "", crashed: true, frames: [])
    if facts.isTask { thread.task = CrashReport.Task(id: number, priority: 21) }
    thread.request = CrashReport.Request(
      number: 1, operation: "GET /orders/\(facts.route)", traceID: String(repeating: "a", count: 24) + "\(number)",
      startTime: time, age_ns: 1)
    var report = CrashReport(
      id: "\(name)-\(number)", time: time, process: process,
      signal: CrashReport.Signal(number: 4, name: "SIGILL", code: 2, codeName: "ILL_ILLOPN"), reason: "",
      diagnosis: CrashReport.Diagnosis(cause: "c", sentence: "s", rule: "r", confidence: 1), threads: [thread],
      images: [], annotations: ["region": "eu-\(facts.region)", "flag": "on-\(facts.flag)", "request": "r\(number)"],
      group: CrashReport.Group(key: group, title: "t"))
    var machine = CrashReport.Machine()
    (machine.host, machine.kernel, machine.processor) = ("web-\(facts.host)", facts.kernel, facts.processor)
    report.machine = machine
    var container = CrashReport.Container(id: "c\(facts.pod)", runtime: "containerd", source: "cgroup")
    container.pod = "shop-\(facts.pod)"
    report.container = container
    return report
  }

  private func withStore(_ body: (ReportStore) throws -> Void) throws {
    let directory = try TestDirectory()
    let store = try ReportStore(path: directory.path + "/r.sqlite")
    try body(store)
    try store.close()
  }

  @Test("of 40 planted causes, at least 85 % are ranked first among the facts of stored reports")
  func planted() throws {
    try withStore { store in
      let cases = 40
      var (first, misses): (Int, [String]) = (0, [])
      for number in 0..<cases {
        var random = Random(state: UInt64(number) &* 0x5bd1_e995)
        let cause = Self.causes[number % Self.causes.count]
        // 55 to 95 % of the group's crashes have the value of the cause. The others have it as often as the rest of the
        // fleet.
        let share = Double.random(in: 0.55..<0.95, using: &random)
        let (key, name) = ("ab\(String(number + 16, radix: 16))", "shop\(number)")
        for event in 0..<120 {
          var facts = Facts(&random)
          let isOfGroup = event % 3 == 0
          if isOfGroup, Double.random(in: 0..<1, using: &random) < share { cause.plant(&facts) }
          _ = try store.put(report(event, group: isOfGroup ? key : "cd\(event % 5)", name: name, facts), raw: [])
        }
        let contrast = try store.contrastSample(key).contrast
        #expect(contrast.key == key && contrast.groupCount == 40 && contrast.restCount == 80)
        let found = contrast.findings.first
        if found?.key == cause.key, found?.value == cause.value {
          first += 1
        } else {
          misses.append("\(cause.key) in \(Int(share * 100)) %: \(found.map { "\($0.key) \($0.value)" } ?? "nothing")")
        }
      }
      print("contrast: \(first) of \(cases) planted causes are ranked first; others: \(misses)")
      #expect(first * 100 >= cases * 85)
    }
  }

  @Test("a large group is compared by a sample, and other programs and other users' reports are left out")
  func bounds() throws {
    try withStore { store in
      var random = Random(state: 7)
      for number in 0..<620 {
        var (facts, name) = (Facts(&random), "shop")
        if number % 2 == 0 { facts.region = 2 }
        if number >= 600 { name = "till" }
        let group = number < 550 ? "cafe" : "beef"
        var report = report(number, group: group, name: name, facts)
        if number % 100 == 99 { report.process.uid = 7 }
        _ = try store.put(report, raw: [])
      }
      let contrast = try store.contrastSample("ca").contrast
      #expect(contrast.key == "cafe" && contrast.groupStored == 550)
      #expect(contrast.groupCount == ReportStore.contrastGroupLimit && contrast.restCount == 50)
      let own = try store.contrastSample("cafe", visibility: .user(7)).contrast
      #expect(own.groupStored == 5 && own.restCount == 1)
      #expect(throws: StoreError.noSuchGroup(key: "dead")) { _ = try store.contrastSample("dead") }
      #expect(throws: StoreError.noSuchGroup(key: "%")) { _ = try store.contrastSample("%") }
    }
  }

  @Test("a budget of bytes ends the reading, and the compared reports are spread over the group and the others")
  func budget() throws {
    try withStore { store in
      var random = Random(state: 7)
      // The numbers of the crashes are in the order of their times.
      for number in 0..<400 {
        var facts = Facts(&random)
        facts.hour = 9
        _ = try store.put(report(number, group: number % 2 == 0 ? "cafe" : "beef", name: "shop", facts), raw: [])
      }
      let sizes = try store.pool.read { try Int.fetchAll($0, sql: "SELECT length(json) FROM reports") }
      let average = sizes.reduce(0, +) / sizes.count
      let read = { (reports: Int) in try store.contrastSample("cafe", budgetBytes: reports * average) }
      let sample = try read(80)
      let numbers = { (fields: [ContrastFields]) in fields.compactMap { $0.values["process.pid"]?.int }.sorted() }
      for part in [numbers(sample.group), numbers(sample.rest)] {
        #expect(abs(part.count - 40) <= 2)
        // The first and the last compared report are near the ends of the list, and no gap between two compared reports
        // is much longer than 400 / 40.
        let gaps = zip(part, part.dropFirst()).map { $1 - $0 }
        #expect((part.first ?? 400) <= 30 && (part.last ?? 0) >= 370 && (gaps.max() ?? 400) <= 30)
      }
      #expect(try read(80).group == sample.group && sample.groupStored == 200)
      // The rest of the reports uses the budget that the group leaves.
      let more = try read(440)
      #expect(more.group.count == 200 && more.rest.count == 200)
      #expect(try read(0).group.isEmpty && read(0).rest.isEmpty)
    }
  }

  @Test("the first elements of a scattered list, however many, are spread over the whole list")
  func scattered() {
    for count in [1, 2, 37, 107, 214, 500, 1_500] {
      let list = ReportStore.scattered((0..<Int64(count)).map { $0 })
      #expect(list.sorted() == Array(0..<Int64(count)))
      for length in stride(from: 8, to: count, by: 7) {
        let part = [-1] + list.prefix(length).sorted() + [Int64(count)]
        let gap = zip(part, part.dropFirst()).map { $1 - $0 }.max() ?? 0
        #expect(gap <= Int64(2 * count / length + 1), "\(length) of \(count)")
      }
    }
  }

  @Test("hostile values lose their control characters and are shortened")
  func hostile() {
    let long = String(repeating: "x", count: 5_000)
    let fields = ContrastFields(values: [
      "machine.host": .string("\u{1b}[31mevil\n"), "machine.kernel": .string(long), "process.uid": .int(-1),
      "process.commandLine": .string("shop " + (0..<500).map { "--a\($0)" }.joined(separator: " ")),
      "annotations": .object(["\u{7}key\(long)": .string("v"), "release": .string("1"), "number": .int(3)]),
      "threads[0].tid": .string("no"), "inFlight.total": .int(.min), "resources.residentBytes": .int(.max),
      "resources.memoryLimitBytes": .int(1), "time": .string("x"),
    ])
    let facts = ContrastFacts.facts(fields)
    #expect(facts.count < 50)
    for fact in facts {
      #expect(!(fact.key + fact.value).contains { $0.unicodeScalars.contains { $0.value < 32 || $0.value == 127 } })
      #expect(fact.key.count <= 60 && fact.value.count <= 200, "\(fact.key)")
    }
    #expect(facts.contains(.init(key: "memory", value: "90 % of the limit or more")))
    #expect(!facts.contains { $0.key == "tag release" })
  }

  @Test("a sample has elements at equal distances")
  func spread() {
    #expect(ReportStore.spread([1, 2, 3], 3) == [1, 2, 3])
    #expect(ReportStore.spread(Array(0..<10), 5) == [0, 2, 4, 6, 8])
  }
}

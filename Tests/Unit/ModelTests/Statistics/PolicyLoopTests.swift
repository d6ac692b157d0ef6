import Foundation
import Testing

@testable import DanglingStatistics

@Suite("Policy loop")
struct PolicyLoopTests {
  static let day_s = 86_400.0

  private static func crash(
    _ incarnation: Int, build: String = "b", instance: String? = nil, className: String? = "App.Session"
  ) -> PolicyInput {
    .crash(
      DanglingCrash(
        build: build, incarnation: "\(incarnation)", instance: instance ?? "host\(incarnation)", className: className))
  }

  /// Creates a policy loop that received no crashes for 30 days, and then received `crashes` crashes within an hour.
  private static func alarmed(
    rules: ProtectionRules = ProtectionRules(allowsAutomaticProtection: true, listedClasses: ["App.Listed"]),
    crashes: Int = 8, className: String? = "App.Session"
  ) -> (loop: PolicyLoop, events: [PolicyEvent], time_s: Double) {
    var loop = PolicyLoop(rules: rules)
    var events: [PolicyEvent] = []
    for day in 0...30 { events += loop.receive(.load(["b": 10]), at: Double(day) * day_s) }
    var time_s = 30 * day_s
    for incarnation in 0..<crashes {
      time_s += 300
      events += loop.receive(crash(incarnation, className: className), at: time_s)
    }
    return (loop, events, time_s)
  }

  @Test("a service without crashes stays at the base level of protection, with the operator's classes")
  func quiet() {
    let (loop, events, _) = Self.alarmed(crashes: 0)
    #expect(events.isEmpty)
    #expect(
      loop.protection
        == Protection(
          level: .base, budgetBytes: 256 << 10, classes: ["App.Listed"], releasedClasses: [],
          includesOwnClasses: false))
  }

  @Test("a few crashes raise the protection level once, with their class and the reason")
  func raise() throws {
    let (loop, events, _) = Self.alarmed()
    let event = try #require(events.first)
    #expect(events.count == 1)
    #expect(event.action == .switched && event.from == .base && event.to == .raised)
    #expect(event.classes == ["App.Session"])
    guard case .rise(let value, 365, _, let recentCrashes) = event.reason else {
      Issue.record("not a rise: \(event.reason)")
      return
    }
    #expect(value >= 365 && recentCrashes <= 6)
    #expect(event.text.hasPrefix("protection base → raised: \(recentCrashes) use-after-free crashes in two weeks"))
    #expect(loop.protection.level == .raised && loop.protection.budgetBytes == 4 << 20)
    #expect(loop.protection.classes == ["App.Listed", "App.Session"])
    #expect(!loop.protection.includesOwnClasses)
    #expect(loop.lastSwitch == event)
  }

  @Test("crashes that name no class raise the protection of all in-app classes")
  func unknownClass() {
    let (loop, events, _) = Self.alarmed(className: nil)
    #expect(events.map(\.classes) == [[]])
    #expect(loop.protection.includesOwnClasses)
    #expect(loop.protection.classes == ["App.Listed"])
  }

  @Test("a class that an override released stays unprotected, even when crashes name it")
  func releasedClass() {
    let rules = ProtectionRules(allowsAutomaticProtection: true, releasedClasses: ["App.Session"])
    let (loop, events, _) = Self.alarmed(rules: rules)
    #expect(events.map(\.to) == [.raised])
    #expect(loop.protection.classes == [])
    #expect(loop.protection.releasedClasses == ["App.Session"])
  }

  @Test("crashes of many threads of one process, and of a restart loop, are counted once in the policy loop")
  func incarnations() {
    let (quiet, _, time_s) = Self.alarmed(crashes: 0)
    var threads = quiet
    for second in 0..<100 {
      #expect(threads.receive(Self.crash(1), at: time_s + Double(second)).isEmpty)
    }
    #expect(threads.countedCrashes == 1)
    var restarts = quiet
    for second in 0..<100 {
      #expect(restarts.receive(Self.crash(second, instance: "unit"), at: time_s + Double(second)).isEmpty)
    }
    #expect(restarts.countedCrashes == 1)
    // Of a service that restarts and crashes again and again, one crash per hour counts, so there is an alarm after
    // some hours.
    var events: [PolicyEvent] = []
    for minute in 1..<600 {
      events += restarts.receive(Self.crash(1_000 + minute, instance: "unit"), at: time_s + Double(minute) * 60)
    }
    #expect(restarts.countedCrashes == 10)
    #expect(events.map(\.to) == [.raised])
  }

  @Test("five crashes of a new service on a new machine raise the level if the rules count each crash")
  func freshService() {
    let rules = ProtectionRules(allowsAutomaticProtection: true, crashLoop_s: 0)
    var loop = PolicyLoop(rules: rules)
    var events: [PolicyEvent] = []
    var crashes = 0
    while events.isEmpty, crashes < 20 {
      crashes += 1
      events += loop.receive(Self.crash(crashes, instance: "unit"), at: 1_000 + Double(crashes))
    }
    #expect(crashes == 5)
    #expect(loop.protection.level == .raised && loop.protection.classes == ["App.Session"])
  }

  @Test("without automatic protection an alarm is only reported, and at most once a week")
  func advice() {
    var (loop, events, time_s) = Self.alarmed(rules: ProtectionRules(), crashes: 8)
    #expect(events.map(\.action) == [.advised])
    #expect(loop.protection.level == .base && loop.protection.classes == [])
    for incarnation in 100..<102 {
      time_s += 6 * 3_600
      events += loop.receive(Self.crash(incarnation), at: time_s)
    }
    #expect(events.count == 1)
  }

  @Test("the operator's pin takes precedence over the alarm and over the stop rule")
  func pin() {
    let (off, events, _) = Self.alarmed(rules: ProtectionRules(pin: .off, allowsAutomaticProtection: true))
    #expect(events.map(\.action) == [.advised])
    #expect(off.protection.level == .off && off.protection.budgetBytes == 0 && off.protection.classes == [])

    var (loop, _, time_s) = Self.alarmed()
    var pinned = loop.rules
    pinned.pin = .on
    // The level is already raised, so the pin changes nothing, and causes no event.
    #expect(loop.receive(.rules(pinned), at: time_s) == [])
    for day in 1...20 { #expect(loop.receive(.load(["b": 10]), at: time_s + Double(day) * Self.day_s) == []) }
    #expect(loop.protection.level == .raised)
    time_s += 20 * Self.day_s
    pinned.pin = .off
    let switched = loop.receive(.rules(pinned), at: time_s)
    #expect(switched.map(\.reason) == [.operatorsRules(pin: .off)])
    #expect(switched.map(\.from) == [.raised] && switched.map(\.to) == [.off])
  }

  @Test("a raised level ends without new hits, and its classes stay listed at the base level")
  func enoughSeen() throws {
    var (loop, _, time_s) = Self.alarmed()
    var events: [PolicyEvent] = []
    for hit in 0..<80 {
      time_s += 60
      events += loop.receive(.hit(className: "App.Session", group: "g\(min(hit, 3))"), at: time_s)
    }
    let event = try #require(events.first)
    #expect(events.count == 1 && event.from == .raised && event.to == .base)
    #expect(event.reason == .enoughSeen(hits: 63, groups: 4, run: 59))
    #expect(loop.protection.level == .base)
    #expect(loop.protection.classes == ["App.Listed", "App.Session"])
    #expect(loop.stop == nil)
  }

  @Test("a raised level ends when hits become rare, and after a week at the latest")
  func dropAndTime() {
    // For a service that crashes many times a day, a short time without crashes proves that the rate has dropped. At a
    // low crash rate, this takes longer than the time limit of the raised level.
    var (busy, _, time_s) = Self.alarmed()
    var events: [PolicyEvent] = []
    for hour in 1...24 * 10 {
      events += busy.receive(.load(["b": 10]), at: time_s + Double(hour) * 3_600)
    }
    #expect(events.map(\.to) == [.base])
    var rules = busy.rules
    rules.dropThreshold = 1e9
    (busy, _, time_s) = Self.alarmed(rules: rules)
    events = []
    for hour in 1...24 * 10 {
      events += busy.receive(.load(["b": 10]), at: time_s + Double(hour) * 3_600)
    }
    guard events.count == 1, case .timeOver(let days) = events[0].reason else {
      Issue.record("\(events)")
      return
    }
    // The raised level can end an hour late, because the loop receives its inputs once per hour.
    #expect(days >= 7 && days < 7.05)
  }

  @Test("a class without hits for a month is released, with an event")
  func release() {
    var (loop, _, time_s) = Self.alarmed()
    var events: [PolicyEvent] = []
    for day in 1...40 { events += loop.receive(.load(["b": 10]), at: time_s + Double(day) * Self.day_s) }
    #expect(events.last?.action == .released)
    #expect(events.last?.reason == .notSeen(className: "App.Session", days: 30))
    #expect(loop.protection.classes == ["App.Listed"])
    time_s += 40 * Self.day_s
    #expect(loop.receive(.hit(className: "App.Session", group: "g"), at: time_s).isEmpty)
    #expect(loop.protection.classes == ["App.Listed", "App.Session"])
  }

  @Test("a new build that crashes more often than the old one raises the level, even if the service's rate is normal")
  func canary() throws {
    var loop = PolicyLoop(rules: ProtectionRules(allowsAutomaticProtection: true, alarmThreshold_days: 1e9))
    var events: [PolicyEvent] = []
    _ = loop.receive(.load(["old": 100]), at: 0)
    for day in 1...10 { _ = loop.receive(.load(["old": 90, "new": 10]), at: Double(day) * Self.day_s) }
    var time_s = 10 * Self.day_s
    for incarnation in 0..<12 where events.isEmpty {
      time_s += Self.day_s / 2
      events += loop.receive(Self.crash(incarnation, build: incarnation % 6 == 5 ? "old" : "new"), at: time_s)
    }
    guard case .worseBuild("new", let value, let newCrashes, let oldCrashes) = try #require(events.first).reason else {
      Issue.record("\(events)")
      return
    }
    #expect(value >= 100 && newCrashes <= 6 && oldCrashes <= 1)
  }

  @Test("time without running processes is not counted, and one crash after two quiet years causes no alarm")
  func noTime() {
    var loop = PolicyLoop(rules: ProtectionRules(allowsAutomaticProtection: true))
    for day in 0..<800 { _ = loop.receive(.load([:]), at: Double(day) * Self.day_s) }
    #expect(loop.detector.value == 0 && loop.baseline.learned_days == 0)
    for day in 800..<1_600 { _ = loop.receive(.load(["b": 1]), at: Double(day) * Self.day_s) }
    #expect(loop.receive(Self.crash(1), at: 1_600 * Self.day_s).isEmpty)
  }

  @Test("twice as many crashes under twice the load cause no alarm")
  func load() {
    var baseline = CrashBaseline()
    for _ in 0..<60 { baseline.observe(days: 1, load: 10, events: 1) }
    #expect(abs(baseline.expected(days: 1, load: 20) / baseline.expected(days: 1, load: 10) - 2) < 1e-9)
    #expect(abs(baseline.rate_perDay - 53.5 / 54) < 1e-9)
    // The baseline is learned from all but the last seven of the 60 days.
    #expect(baseline.learned_days == 53)
    for _ in 0..<400 { baseline.observe(days: 1, load: 10, events: 1) }
    #expect(abs(baseline.learned_days - 90) < 1e-9)
  }

  @Test("if the clock is set back or to an invalid time, the policy loop only stops counting time")
  func clock() {
    var (loop, _, _) = Self.alarmed(crashes: 0)
    for time_s in [-1e300, .nan, .infinity, 0] { #expect(loop.receive(.load(["b": .nan]), at: time_s).isEmpty) }
    #expect(loop.protection.level == .base)
    #expect(loop.receive(.load(["b": 10]), at: 32 * Self.day_s).isEmpty)
  }

  @Test("each reason of a protection event has a description")
  func words() {
    let reasons: [(PolicyEvent.Reason, String)] = [
      (
        .worseBuild(build: "7f3a", value: 123.4, newCrashes: 6, oldCrashes: 1),
        "build 7f3a crashed 6 times while older builds crashed once"
      ),
      (.enoughSeen(hits: 63, groups: 4, run: 59), "63 hits in 4 groups, the last 59 without a new group"),
      (.enoughSeen(hits: 1, groups: 1, run: 0), "1 hit in 1 group, the last 0 without a new group"),
      (.accessesDropped(value: 20.04, hits: 3), "evidence 20.0, 3 hits"),
      (.timeOver(days: 7), "the limit of 7.0 days has passed"),
      (.operatorsRules(pin: .off), "pin off"),
      (.notSeen(className: "App.Session", days: 30), "App.Session was not reported for 30.0 days"),
      (.rise(value: 400, threshold_days: 365, expected_perDay: 0.1, recentCrashes: 5), "5 use-after-free crashes"),
    ]
    for (reason, words) in reasons { #expect(reason.text.contains(words), "\(reason.text)") }
  }
}

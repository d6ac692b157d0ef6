import CrashProtocol
import CrashReport
import FoundationEssentials
import TestKit
import Testing

@testable import CrashControl

@Suite("Texts of crashctl dangling")
struct DanglingTextTests {
  private static let terminal = Terminal(width: nil, hasColor: false)

  private static func policy(_ days: String = "") throws -> DanglingPolicyReport {
    let json = """
      {"uid": 7, "name": "shop", "program": "/srv/shop", "level": "raised", "pin": "automatic",
       "isAutomaticAllowed": true, "budgetBytes": 4194304, "baseBudgetBytes": 262144, "raisedBudgetBytes": 4194304,
       "crashLoop_s": 3600, "evidence": 0.5, "alarmThreshold_days": 365, "usual_perDay": 0.25, "countedCrashes": 6,
       "classes": [{"name": "App.Session", "listedBy": "statistics", "mode": "zero", "limit": 50}],
       "releasedClasses": ["App.Pool"], "includesOwnClasses": false, "processes": 3, "applied": 2,
       "refusals": {"App.Session": "no such class"}, "days": [\(days)],
       "stop": {"since": "2026-11-20T00:00:00Z", "hits": 41, "groups": 2, "runWithoutNewGroup": 40,
         "enoughHitsWithoutNewGroup": 59, "unseenShare": 0.1, "dropEvidence": 1.5, "dropThreshold": 20, "days": 2.5,
         "atMost_days": 7}}
      """
    return try JSONDecoder().decode(DanglingPolicyReport.self, from: Data(json.utf8))
  }

  private static func day(_ date: String, crashes: Int, hits: Int, build: String = "7f3a") -> String {
    """
    {"date": "\(date)", "crashes": \(crashes), "counted": 1, "hits": \(hits), "processHours": 2.5,
     "builds": {"\(build)": \(crashes)}}
    """
  }

  @Test("a bar shows a value as a share of the maximum; zero differs from a small value, and NaN does not trap")
  func sparkline() {
    #expect(Sparkline.text([]) == "")
    #expect(Sparkline.text([0, 0]) == "··")
    #expect(Sparkline.text([0, 1, 50, 100]) == "·▁▄█")
    #expect(Sparkline.text([.nan, -1, .infinity, 2]) == "··██")
  }

  @Test("a trend of use-after-free crashes includes days without crashes, and can be limited to one build")
  func trend() throws {
    let days = [
      Self.day("2026-11-18", crashes: 2, hits: 0), Self.day("2026-11-21", crashes: 4, hits: 9, build: "aa11"),
    ].joined(separator: ",")
    let policy = try Self.policy(days)
    let all = DanglingText.trend([policy], build: nil, days: 30, terminal: Self.terminal, legend: true)
    #expect(all.contains("▄··█  6 in 4 days") && all.contains("9 caught") && all.contains("0.25 crashes a day"))
    #expect(all.contains("2026-11-18") && all.contains("2026-11-21") && !all.contains("2026-11-19"))
    let one = DanglingText.trend([policy], build: "aa", days: 30, terminal: Self.terminal, legend: true)
    #expect(one.contains("···█  4 in 4 days"))
    let last = DanglingText.trend([policy], build: nil, days: 1, terminal: Self.terminal, legend: false)
    #expect(last.contains("4 in 1 day, too few for a trend (1 of 7 days)") && !last.contains("DAY"))
  }

  @Test("the text of a policy names each setting's source, the stop rule's progress and processes without the policy")
  func policy() throws {
    let policy = try Self.policy()
    let text = DanglingText.policy(policy, events: [], terminal: Self.terminal)
    for part in [
      "up to 4.0 MiB a process", "applied in 2 of 3", "40 of 59 hits in a row",
      "2.5 of 7 days", "App.Session  zero, 50 objects, by the statistics",
      "App.Pool     never, by the operator (dangling reset takes it back)", "App.Session  not applied: no such class",
      "shop: protection raised. Automatic: on. No sign of an increase (0.50 of 365).",
    ] {
      #expect(text.contains(part), "\(part) is not in: \(text)")
    }
    let list = DanglingText.policies([policy, policy], terminal: Self.terminal, legend: true)
    #expect(list.contains("CLASSES") && list.contains("2/3") && list.contains("/srv/shop"))
  }

  @Test("a trend shows a program without use-after-frees only if it is named, and counts the other ones")
  func quiet() throws {
    let quiet = try Self.policy(Self.day("2026-11-18", crashes: 0, hits: 0))
    var still = quiet
    still.evidence = 0
    let loud = try Self.policy(Self.day("2026-11-18", crashes: 2, hits: 0))
    let text = DanglingText.trend([still, loud], build: nil, days: 30, terminal: Self.terminal, legend: true)
    #expect(text.contains("1 program without use-after-free not shown"), "\(text)")
    let alone = DanglingText.trend([still], build: nil, days: 30, terminal: Self.terminal, legend: true)
    #expect(alone.contains("shop: protection") && !alone.contains("not shown"))
  }

  @Test("on a terminal, a hint that applies to several programs is printed once")
  func commands() throws {
    let events = try ["shop", "till"].map { name in
      let json = """
        {"sequence": 1, "uid": 7, "name": "\(name)", "program": "/srv/\(name)", "decision": {
         "time": "2026-11-21T08:10:11.5Z", "action": "operator", "from": "base", "to": "base",
         "text": "the operator protects App.Session (uid 0)", "classes": []}}
        """
      return try JSONDecoder().decode(DanglingEventReport.self, from: Data(json.utf8))
    }
    let terminal = Terminal(width: 120, hasColor: false, clock: Clock(now: 1_795_248_671, isUTC: true))
    #expect(
      DanglingText.events(events, terminal: terminal, legend: false)
        == "60s shop +1 7 operator the operator protects App.Session (uid 0)\n")
    #expect(DanglingText.events(events, terminal: Self.terminal, legend: false).split(separator: "\n").count == 2)
  }

  @Test("the line of a use-after-free group has the count, the class and the call site")
  func groups() {
    let group = DanglingGroup(
      id: "aa-1", program: "shop", className: "App.Session", kind: "call", method: "Session.greet()", place: "serve()",
      line: "Shop.swift:12", count: 7, processes: 1, builds: 1, releases: 1, modes: ["absorb", "zero"],
      first: "2026-11-21T09:00:00Z", last: "2026-11-21T10:00:00Z", age_ns: 2_000_000, confidence: "certain")
    let text = IncidentText.groups([group], terminal: Self.terminal, legend: true)
    let lines = text.split(separator: "\n")
    #expect(lines.count >= 2 && lines[0].contains("HITS") && lines[0].contains("FREED BY"))
    #expect(lines[1].contains("App.Session") && lines[1].contains(" 7 ") && lines[1].contains("2 ms"))
    #expect(lines[1].contains("absorb, zero") && lines[1].contains("1 site "))
    #expect(lines[1].contains("call of Session.greet() in serve() (Shop.swift:12)"), "\(text)")
  }

  @Test("an incident of a contained request shows the request with its id and trace, also in a list for a pipe")
  func request() {
    var incident = IncidentReport(
      id: "aa-1", first: "2026-11-21T10:00:00Z", last: "2026-11-21T10:00:00Z", count: 1,
      process: .init(pid: 7, uid: 0, name: "shop", executable: "/srv/shop", buildID: "ab"), source: .isolated,
      kind: .requestTrap, mode: .absorb, subject: "sold out", sentence: "Request GET /cart trapped: sold out",
      confidence: .certain)
    #expect(!IncidentText.list([incident], terminal: Self.terminal, legend: true).contains("REQUEST"))
    incident.request = CrashReport.Request(
      number: 9, operation: "GET /cart", id: "7F3A", traceID: "4bf92f3577b34da6a3ce929d0e0e4736",
      startTime: "2026-11-21T09:59:59Z", age_ns: 1_000_000_000)
    let lines = IncidentText.list([incident], terminal: Self.terminal, legend: true).split(separator: "\n")
    #expect(lines[0].contains("REQUEST") && lines[0].contains("TRACE"))
    #expect(lines[1].contains(" requestTrap ") && lines[1].contains(" 7F3A "))
    #expect(lines[1].contains(" 4bf92f3577b34da6a3ce929d0e0e4736 Request GET /cart trapped: sold out"), "\(lines[1])")
    let text = IncidentText.text(incident, terminal: Self.terminal)
    let named = "GET /cart · id 7F3A · trace 4bf92f3577b34da6a3ce929d0e0e4736 · begun 1.0 s before"
    #expect(text.contains(named), "\(text)")
    #expect(text.contains("Trapped (thread unknown):"))
  }

  @Test("crashctl dangling prints numbers with only as many digits as necessary")
  func numbers() {
    #expect([0, 1, 0.25, 12.34, 365.4, -0.5].map(DanglingText.number) == ["0", "1", "0.25", "12.3", "365", "-0.50"])
    #expect(DanglingText.number(.infinity) == "∞" && !DanglingText.number(1e300).isEmpty)
  }
}

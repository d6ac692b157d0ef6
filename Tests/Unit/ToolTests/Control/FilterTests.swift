import CrashClient
import CrashProtocol
import CrashReport
import Foundation
import Synchronization
import TestKit
import Testing

/// Tests that each filter option of each verb sets the right parameter of the verb's method.
@Suite("crashctl's filters")
struct FilterTests {
  struct Verb: Sendable, CustomTestStringConvertible {
    var words: [String]
    var method: String
    var testDescription: String { words.joined(separator: " ") }
  }

  struct Flag: Sendable, CustomTestStringConvertible {
    var words: [String]
    var parameter: String
    var value: JSONValue
    var testDescription: String { words.joined(separator: " ") }
  }

  static let crashVerbs = [
    Verb(words: ["list"], method: "List"), Verb(words: ["list", "--all"], method: "List"),
    Verb(words: ["export"], method: "List"), Verb(words: ["reanalyze", "--all"], method: "List"),
    Verb(words: ["reanalyse", "--all"], method: "List"),
    Verb(words: ["groups"], method: "Groups"), Verb(words: ["follow"], method: "Subscribe"),
  ]

  private static let namedFlags = [
    Flag(words: ["--pid", "7"], parameter: "pid", value: .int(7)),
    Flag(words: ["--name", "shop"], parameter: "name", value: .string("shop")),
    Flag(words: ["--exe", "/srv/shop"], parameter: "executable", value: .string("/srv/shop")),
    Flag(words: ["--unit", "shop"], parameter: "unit", value: .string("shop.service")),
    Flag(words: ["--unit", "shop.scope"], parameter: "unit", value: .string("shop.scope")),
    Flag(words: ["--signal", "segv"], parameter: "signal", value: .string("SIGSEGV")),
    Flag(words: ["--group", "3f2a"], parameter: "group", value: .string("3f2a")),
    Flag(words: ["--tag", "region=eu"], parameter: "tags", value: .array([.string("region=eu")])),
    Flag(
      words: ["--tag", "region=eu", "--tag", "query=a=b"], parameter: "tags",
      value: .array([.string("region=eu"), .string("query=a=b")])),
    Flag(
      words: ["--pod", "shop-7c5", "--namespace", "production"], parameter: "tags",
      value: .array([.string("k8s.namespace.name=production"), .string("k8s.pod.name=shop-7c5")])),
    Flag(
      words: ["--tag", "a=b", "--pod", "2f7ac4de-1a3d-11e7-bb11-080027cb0e22"], parameter: "tags",
      value: .array([.string("a=b"), .string("k8s.pod.uid=2f7ac4de-1a3d-11e7-bb11-080027cb0e22")])),
    Flag(
      words: ["--trace-id", "4BF92F3577B34DA6A3CE929D0E0E4736"], parameter: "traceID",
      value: .string("4bf92f3577b34da6a3ce929d0e0e4736")),
    Flag(words: ["-S", "@1795248611"], parameter: "since", value: .string("2026-11-21T08:10:11Z")),
    Flag(words: ["--until=@1795248611"], parameter: "until", value: .string("2026-11-21T08:10:11.999999Z")),
  ]

  /// Options of crash filters: those below, and for each other string parameter an option of the same name.
  static let crashFlags =
    namedFlags
    + ReportFilter.texts.map(\.name).filter { name in !namedFlags.contains { $0.parameter == name } }.map {
      Flag(words: ["--\($0)", "a \($0)"], parameter: $0, value: .string("a \($0)"))
    }

  static let incidentVerbs = [
    Verb(words: ["incidents"], method: "Incidents"), Verb(words: ["incidents", "list"], method: "Incidents"),
    Verb(words: ["incidents", "top"], method: "TopIncidents"),
    Verb(words: ["incidents", "follow"], method: "Incidents"),
  ]

  static let incidentFlags = [
    Flag(words: ["--name", "shop"], parameter: "name", value: .string("shop")),
    Flag(words: ["--source", "guard"], parameter: "source", value: .string("guard")),
    Flag(words: ["--kind", "index"], parameter: "kind", value: .string("index")),
    Flag(words: ["--site", "Shop.swift:12"], parameter: "site", value: .string("Shop.swift:12")),
    Flag(words: ["--route", "GET /cart"], parameter: "route", value: .string("GET /cart")),
    // An unknown number stands for a kind that a later version defines.
    Flag(words: ["--kind", "99"], parameter: "kind", value: .string("99")),
    Flag(words: ["-S", "@1795248611"], parameter: "since", value: .string("2026-11-21T08:10:11Z")),
  ]

  @Test("crashctl accepts every source and kind of incidents; the error for any other word lists them")
  func incidentWords() throws {
    let sources = ["quarantine", "pages", "guard", "isolated"]
    #expect(IncidentReport.Source.known.map(\.rawValue) == sources)
    let kinds = IncidentReport.Kind.known.map(\.rawValue)
    #expect(Set(kinds).count == kinds.count && Set(kinds).isSuperset(of: GuardKinds.names))
    #expect(Set(kinds).isSuperset(of: ["call", "doubleFree", "trap", "requestTrap"]))
    for verb in Self.incidentVerbs {
      let result = try CommandLineTests.crashctl(verb.words + ["--kind", "idex"])
      #expect(result.status == 2 && result.complaint.contains("it is one of call, "), "\(result.complaint)")
      #expect(kinds.allSatisfy(result.complaint.contains))
    }
  }

  /// Splits options into few groups without two options for one parameter.
  ///
  /// A run of crashctl tests a whole group, because a run takes a tenth of a second in a debug build.
  private static func groups(_ flags: [Flag]) -> [[Flag]] {
    flags.reduce(into: []) { groups, flag in
      if let free = groups.firstIndex(where: { !$0.map(\.parameter).contains(flag.parameter) }) {
        groups[free].append(flag)
      } else {
        groups.append([flag])
      }
    }
  }

  static let filterNames = Set((crashFlags + incidentFlags).map(\.parameter))

  /// Runs the verb, and returns the parameters of the first call of its method.
  ///
  /// The daemon answers every call with an error, which ends each verb.
  private func asked(_ words: [String], method: String) throws -> [String: JSONValue] {
    let calls = Mutex<[String]>([])
    let daemon = try FakeDaemon { connection in
      while let call = connection.call() {
        calls.withLock { $0.append(call) }
        connection.reply(#"{"reason":"a test"}"#, error: "io.crashshield.Crashd.StoreUnavailable")
      }
    }
    defer { daemon.stop() }
    let result = try CommandLineTests.crashctl(words + ["--socket", daemon.socketPath], environment: ["TZ": "UTC"])
    #expect(result.status == 3, "\(result.complaint)")
    let values = try calls.withLock { try $0.map { try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8)) } }
    let call = try #require(values.first { $0["method"]?.string == "io.crashshield.Crashd." + method })
    guard case .object(let parameters)? = call["parameters"] else { return [:] }
    return parameters.filter { Self.filterNames.contains($0.key) && $0.value != .null }
  }

  private static func incident(id: String, second: Int) throws -> String {
    let time = "2026-11-21T08:10:\(second).000000Z"
    let incident = IncidentReport(
      id: id, first: time, last: time, count: 1,
      process: .init(pid: 1, uid: 0, name: "shop", executable: "/srv/shop", buildID: "ab"), source: "guard",
      kind: "index", mode: "absorb", subject: "7 is outside", sentence: "7 is outside.", confidence: "certain",
      site: "Shop/Cart.swift:12")
    return String(decoding: try JSONEncoder().encode(incident), as: UTF8.self)
  }

  @Test("each verb that lists crashes passes its filters to crashd", arguments: crashVerbs, groups(crashFlags))
  func crashes(verb: Verb, flags: [Flag]) throws { try check(verb, flags) }

  @Test("each verb that lists incidents passes its filters to crashd", arguments: incidentVerbs, groups(incidentFlags))
  func incidents(verb: Verb, flags: [Flag]) throws { try check(verb, flags) }

  private func check(_ verb: Verb, _ flags: [Flag]) throws {
    let wanted = Dictionary(uniqueKeysWithValues: flags.map { ($0.parameter, $0.value) })
    #expect(try asked(verb.words + flags.flatMap(\.words), method: verb.method) == wanted)
  }

  @Test("crashctl dangling list filters by program and time, for groups and for each incident")
  func dangling() throws {
    let words = ["dangling", "list", "--name", "shop", "-S", "@1795248611"]
    let wanted: [String: JSONValue] = ["name": .string("shop"), "since": .string("2026-11-21T08:10:11Z")]
    #expect(try asked(words, method: "DanglingGroups") == wanted)
    let each = try asked(words + ["--each"], method: "Incidents")
    #expect(each == wanted.merging(["source": .string("quarantine")]) { $1 })
  }

  @Test("crashctl without filter options passes no filter", arguments: crashVerbs + incidentVerbs)
  func nothing(verb: Verb) throws {
    #expect(try asked(verb.words, method: verb.method).isEmpty)
  }

  @Test("incidents follow prints new incidents, and resumes after a broken connection")
  func followIncidents() throws {
    let calls = Mutex<[JSONValue?]>([])
    let (first, second) = (try Self.incident(id: "aa", second: 11), try Self.incident(id: "bb", second: 12))
    let daemon = try FakeDaemon { connection in
      guard let call = connection.call() else { return }
      let parameters = try? JSONDecoder().decode(JSONValue.self, from: Data(call.utf8))["parameters"]
      let number = calls.withLock { calls in
        calls.append(parameters?["cursor"])
        return calls.count
      }
      connection.reply(#"{"incidents":[],"cursor":"c0"}"#, continues: true)
      guard number > 1 else { return connection.reply(#"{"incidents":[\#(first)],"cursor":"c1"}"#, continues: true) }
      connection.reply(#"{"incidents":[],"cursor":"c1","lost":7}"#, continues: true)
      connection.reply(#"{"incidents":[\#(second)],"cursor":"c2"}"#, continues: true)
      connection.reply(#"{"reason":"a test"}"#, error: "io.crashshield.Crashd.StoreUnavailable")
    }
    defer { daemon.stop() }
    let words = ["incidents", "follow", "--json=short", "--socket", daemon.socketPath]
    let result = try CommandLineTests.crashctl(words)
    let ids = try result.output.split(separator: "\n").map {
      try JSONDecoder().decode(JSONValue.self, from: Data($0.utf8))["id"]?.string
    }
    #expect(ids == ["aa", "bb"])
    #expect(result.complaint.contains("7 incidents were evicted before they were read"))
    #expect(calls.withLock { $0.map { $0?.string } } == [nil, "c1"])
  }
}

import CrashProtocol
import CrashReport
import CrashRing
import CrashStore
import FoundationEssentials
import Glibc
import Testing

@testable import CrashDaemon

/// Records the replies to valid and invalid calls of every method.
///
/// With these records, a developer can compare the replies of two versions of crashd.
///
/// `CRASHSHIELD_CORPUS=FILE swift test --filter ReplyCorpusTests` writes one reply per line with sorted keys. Compare
/// the files of two versions with `diff`. The test masks values that differ from run to run (clock, pid, uid, epoch,
/// paths).
@Suite("The corpus of replies")
struct ReplyCorpusTests {
  private static let own = "io.crashshield.Crashd"

  @Test(
    "every method of the interface is called, and its replies are recorded",
    .enabled(if: corpusPath != nil, "CRASHSHIELD_CORPUS names no file"))
  func record() async throws {
    let path = try #require(corpusPath)
    var limits = Limits.patient
    // A short limit, because the attached process of this test does not answer control messages, for which crashd would
    // wait.
    limits.control_ms = 10
    try await TestDaemon.run(limits: limits) { daemon in
      try Self.fill(daemon)
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let mask = ReplyMask(epoch: daemon.store.epoch, directory: daemon.directories.runtime)
      let client = try await daemon.client()
      var lines = try await Self.events(daemon, mask)
      let calls = Self.calls { StoreCursor(epoch: daemon.store.epoch, sequence: $0).description }.split(separator: "\n")
      // Calls each method that is not in this list, too, but without parameters.
      let named = Set(calls.map { line in line.prefix { $0 != " " } })
      for line in calls + Self.methods.filter({ !named.contains($0) }) {
        let words = line.split(separator: " ", maxSplits: 1)
        let method = words[0].contains(".") ? String(words[0]) : "\(Self.own).\(words[0])"
        let parameters = words.count > 1 ? String(words[1]) : "{}"
        try await client.send(Array(#"{"method":"\#(method)","parameters":\#(parameters)}"#.utf8) + [0])
        lines.append("\(line) -> \(try mask.text(try await client.reply()))")
      }
      lines += try await Self.missed(daemon, mask)
      try Data((lines.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: path))
    }
  }

  /// The methods that the interface file declares.
  private static var methods: [Substring] {
    CrashdInterface.description.split(separator: "\n").filter { $0.hasPrefix("method ") }.map {
      $0.dropFirst("method ".count).prefix { $0 != "(" }
    }
  }

  private static func fill(_ daemon: TestDaemon) throws {
    _ = try daemon.store.enter(subscriber: "mail", uid: geteuid(), at: "2023-01-01T00:00:00Z")
    for (id, name) in [("aa01", "shop"), ("aa02", "till"), ("bb03", "shop")] {
      var report = try CrashReport.sample(id: id)
      report.process.name = name
      (report.release, report.environment, report.user) = ("\(name)@1", "test", "17")
      report.annotations = ["path": "/a/b", "quote": "\"\\"]
      _ = try daemon.store.put(report, raw: Array(id.utf8))
    }
    for (id, kind, count) in [("cc-1", "index", 3), ("cc-2", "index", 4), ("dd-1", "cast", 1)] {
      let json = """
        {"id": "\(id)", "first": "2023-01-01T00:00:00.000000Z", "last": "2023-01-02T00:00:00.000000Z", "count": \(count),
         "process": {"pid": 4, "uid": \(geteuid()), "name": "shop", "executable": "/srv/shop", "buildID": "ab"},
         "source": "guard", "kind": "\(kind)", "mode": "absorb", "subject": "s", "sentence": "A sentence.",
         "confidence": "certain", "use": [], "site": "Shop/Cart.swift:\(count)"}
        """
      try daemon.store.put(incidents: [JSONDecoder().decode(IncidentReport.self, from: Data(json.utf8))])
    }
  }

  /// Records the replies of Subscribe: those of a stream from the first event on, and those to refused calls.
  private static func events(_ daemon: TestDaemon, _ mask: ReplyMask) async throws -> [String] {
    var lines: [String] = []
    let streams = [
      (#"{"cursor": "\#(daemon.store.epoch)-0", "name": "shop"}"#, 2), ("{}", 1), (#"{"subscriber": "post"}"#, 1),
      (#"{"cursor": "x"}"#, 1), (#"{"subscriber": "a b"}"#, 1), (#"{"limit": 1}"#, 1), (#"{"since": "never"}"#, 1),
      (#"{"expired": 1}"#, 1),
    ]
    for (parameters, count) in streams {
      let client = try await daemon.client()
      let call = #"{"method":"\#(own).Subscribe","parameters":\#(parameters),"more":true}"#
      try await client.send(Array(call.utf8) + [0])
      for _ in 0..<count { lines.append("Subscribe+ \(parameters) -> \(try mask.text(try await client.reply()))") }
    }
    return lines
  }

  /// Records the replies of Subscribe from the first event on, after other calls have removed some events.
  private static func missed(_ daemon: TestDaemon, _ mask: ReplyMask) async throws -> [String] {
    var lines: [String] = []
    for expired in ["", #", "expired": true"#] {
      let client = try await daemon.client()
      let call =
        #"{"method":"\#(own).Subscribe","parameters":{"cursor": "\#(daemon.store.epoch)-0"\#(expired)},"more":true}"#
      try await client.send(Array(call.utf8) + [0])
      lines.append("Subscribe+ removed\(expired) -> \(try mask.text(try await client.reply()))")
    }
    return lines
  }

  /// Returns the calls, one per line.
  ///
  /// Each line has the method, and its parameters.
  private static func calls(_ cursor: (Int64) -> String) -> String {
    """
    org.varlink.service.GetInfo
    org.varlink.service.GetInfo {"x": 1}
    org.varlink.service.GetInterfaceDescription {"interface": "x.y"}
    org.varlink.service.GetInterfaceDescription {"interface": 1}
    org.varlink.service.GetInterfaceDescription
    org.varlink.service.Explode
    com.example.List
    Explode
    Explode {"limit": 1}
    List
    List {"limit": 1, "count": true}
    List {"limit": 0, "count": true, "name": "shop"}
    List {"oldestFirst": true, "limit": null}
    List {"before": "\(cursor(2))", "pid": 7}
    List {"after": "\(cursor(2))", "oldestFirst": true}
    List {"group": "ff", "unit": "a.service", "signal": "SIGSEGV", "executable": "/srv"}
    List {"release": "shop@1", "environment": "test"}
    List {"tags": ["path=/a/b", "user=17"]}
    List {"tags": ["path"]}
    List {"tags": ["=a"]}
    List {"tags": "path=/a/b"}
    List {"tags": []}
    List {"release": 1}
    List {"since": "2023-01-01T00:00:00Z", "until": "2024-01-01T00:00:00+01:00"}
    List {"since": "yesterday"}
    List {"until": 1}
    List {"limit": -1}
    List {"limit": "1"}
    List {"limit": 1.5}
    List {"limit": 2.0}
    List {"limt": 1, "aaa": 2}
    List {"limt": 1, "limit": -1}
    List {"pid": 4294967296}
    List {"name": []}
    List {"count": "yes"}
    List {"oldestFirst": 1}
    List {"before": "x"}
    List {"before": "0123456789abcdef-1"}
    List {"after": "\(cursor(99))"}
    Groups
    Groups {"limit": 1, "offset": 0, "name": "shop"}
    Groups {"offset": 1, "signal": "SIGSEGV"}
    Groups {"pid": 7}
    Groups {"release": "till@1"}
    Groups {"tags": ["user=17"]}
    Groups {"tags": ["user"]}
    Groups {"offset": -1}
    Groups {"before": "x"}
    Groups {"group": "zz"}
    ResolveGroup
    ResolveGroup {"key": "ff"}
    ResolveGroup {"key": "", "resolved": true}
    ResolveGroup {"key": "zz", "resolved": true}
    ResolveGroup {"key": 1, "resolved": true}
    ResolveGroup {"key": "a", "resolved": "yes"}
    Get {"id": "bb"}
    Get {"id": "bb", "raw": true, "stacks": true}
    Get {"id": "bb", "raw": false, "stacks": false, "scrub": false}
    Get {"id": "bb", "scrub": true}
    Get {"id": "bb", "scrub": true, "raw": true}
    Get {"id": "bb", "scrub": true, "stacks": true}
    Get {"id": "ff"}
    Get {"id": "aa"}
    Get {"id": "*"}
    Get {"id": 1}
    Get {"raw": 1}
    Get {"scrub": 1}
    Get {"x": null}
    Get {"x": 1}
    Explain
    Explain {"id": "bb"}
    Explain {"id": "ff"}
    Explain {"id": 1}
    Reanalyse {"id": "bb"}
    Reanalyse {"id": "aa"}
    Reanalyse {"id": 1}
    Cursor
    Cursor {"subscriber": "mail"}
    Cursor {"subscriber": "a b"}
    Cursor {"subscriber": "mail", "uid": -1}
    Subscribe
    Subscribe {"x": 1}
    Ack
    Ack {"subscriber": "mail", "cursor": "\(cursor(1))"}
    Ack {"subscriber": "mail", "cursor": "x"}
    Ack {"subscriber": "mail"}
    Subscribers
    Subscribers {"x": 1}
    Unsubscribe
    Unsubscribe {"subscriber": "mail"}
    Unsubscribe {"subscriber": "forward /nowhere"}
    Incidents
    Incidents {"limit": 1, "offset": 1}
    Incidents {"id": "cc", "source": "guard", "kind": "index", "site": "Cart", "name": "shop", "since": "2023-01-01T00:00:00Z"}
    Incidents {"since": "never"}
    Incidents {"limit": -1}
    Incidents {"by": "kind"}
    TopIncidents
    TopIncidents {"by": "kind", "limit": 1}
    TopIncidents {"by": "name"}
    TopIncidents {"by": "day"}
    TopIncidents {"by": 1}
    TopIncidents {"offset": 1}
    Processes
    Processes {"x": 1}
    ProtectedClasses
    ProtectedClasses {"pid": 1, "name": "x"}
    ProtectedClasses {"pid": 0}
    DanglingGroups
    DanglingGroups {"limit": 1, "offset": 1, "name": "shop", "since": "2023-01-01T00:00:00Z"}
    DanglingGroups {"limit": -1}
    DanglingGroups {"offset": -1}
    DanglingGroups {"since": "never"}
    DanglingGroups {"source": "guard"}
    DanglingPolicies
    DanglingPolicies {"name": "none"}
    DanglingPolicies {"name": 1}
    DanglingClasses
    DanglingClasses {"x": 1}
    DanglingEvents
    DanglingEvents {"limit": -1}
    DanglingProtect
    DanglingProtect {"class": ""}
    DanglingProtect {"class": "a b"}
    DanglingProtect {"class": "shop.Cart", "mode": "x"}
    DanglingProtect {"class": "shop.Cart", "limit": 0}
    DanglingProtect {"class": "shop.Cart", "name": "none"}
    DanglingProtect {"class": "shop.Cart", "name": ""}
    DanglingProtect {"class": "shop.Cart", "limit": 8, "mode": "absorb"}
    DanglingPolicies
    DanglingEvents {"limit": 1}
    DanglingRelease
    DanglingRelease {"class": "shop.Cart", "name": "none"}
    DanglingRelease {"class": "shop.Cart"}
    PolicySet
    PolicySet {"name": "none"}
    PolicySet {"name": "shop", "pin": "x"}
    PolicySet {"name": "shop", "baseBudgetBytes": 1}
    PolicySet {"name": "shop", "raisedBudgetBytes": 1}
    PolicySet {"name": "shop", "crashLoop_s": -1}
    PolicySet {"name": "shop", "alarmThreshold_days": 1}
    PolicySet {"name": "shop", "automatic": "x"}
    PolicySet {"name": "shop", "pin": "off", "automatic": false, "baseBudgetBytes": 8192, \
      "raisedBudgetBytes": 16384, "crashLoop_s": 9, "alarmThreshold_days": 30}
    DanglingPolicies {"name": "shop"}
    GuardModes
    GuardSet
    GuardSet {"kind": "indx", "mode": "off"}
    GuardSet {"kind": "index", "mode": "on"}
    GuardSet {"mode": "off", "name": ""}
    GuardSet {"mode": "off", "name": "none"}
    GuardSet {"mode": "off", "implicit": "x"}
    GuardSet {"kind": "index", "mode": "off", "name": "shop", "implicit": true}
    GuardModes {"name": "shop"}
    GuardModes {"name": 1}
    AwaitProcess
    AwaitProcess {"pid": 0}
    AwaitProcess {"pid": 1}
    AwaitProcess {"pid": 1, "timeout_ms": -1}
    AwaitProcess {"pid": 1, "timeout_ms": 600001}
    Status
    Status {"x": 1}
    Metrics
    Metrics {"x": 1}
    Health {"name": "nothing"}
    Health {"name": "nothing", "since": "2026-11-21T08:00:00Z"}
    Health {"since": "yesterday"}
    Health {"build": "nothing"}
    Health {"against": "nothing"}
    Health {"build": 1}
    Health {"x": 1}
    Prune
    Prune {"before": "never"}
    Prune {"before": "2021-01-01T00:00:00Z", "dryRun": true}
    Prune {"before": "2021-01-01T00:00:00Z", "dryRun": 1}
    Prune {"before": "2021-01-01T00:00:00Z", "limit": 0}
    Prune {"before": "2021-01-01T00:00:00Z", "limit": 1}
    Remove
    Remove {"ids": []}
    Remove {"ids": [""]}
    Remove {"ids": [1]}
    Remove {"ids": "aa"}
    Remove {"ids": ["ff"]}
    Remove {"ids": ["aa"]}
    Remove {"ids": ["aa02", "aa02"]}
    """
  }
}

/// Masks the values that differ from run to run.
private struct ReplyMask {
  var epoch: StoreEpoch
  var directory: String

  private static let measured: Set = ["uid", "uptime_s", "storeBytes", "processHours", "evidence", "usual_perDay"]

  func text(_ reply: [String: JSONValue]) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    return String(decoding: try encoder.encode(masked(.object(reply))), as: UTF8.self)
  }

  private func masked(_ value: JSONValue) -> JSONValue {
    switch value {
    case .int(let number): number == getpid() ? .string("PID") : value
    case .string(let text): .string(masked(text))
    case .array(let values): .array(values.map(masked))
    case .object(let members):
      .object(
        Dictionary(
          uniqueKeysWithValues: members.map { key, value in
            (key, Self.measured.contains(key) ? .string("MEASURED") : masked(value))
          }))
    default: value
    }
  }

  private func masked(_ text: String) -> String {
    // Times in 2023 are test data, and are not masked. All other times are from the clock of this run.
    if text.hasPrefix("20"), !text.hasPrefix("2023"), text.dropFirst(4).hasPrefix("-") { return "TIME" }
    if let cursor = StoreCursor(text, of: epoch) { return "EPOCH-\(cursor.sequence)" }
    return text.replacing(epoch.description, with: "EPOCH").replacing(directory, with: "DIRECTORY")
      .split(separator: "\n", omittingEmptySubsequences: false)
      .filter { !$0.hasPrefix("crashd_up_seconds ") && !$0.hasPrefix("crashd_store_bytes ") }.joined(separator: "\n")
  }
}

/// The path of the corpus file.
private let corpusPath: String? =
  // Invariant: getenv() returns a string that stays valid until the environment changes, which no test does.
  unsafe getenv("CRASHSHIELD_CORPUS").map { unsafe String(cString: $0) }.flatMap { $0.isEmpty ? nil : $0 }

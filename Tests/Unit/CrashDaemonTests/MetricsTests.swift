import CrashProtocol
import CrashReport
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("Metrics")
struct MetricsTests {
  @Test("the metrics text has a type for each metric, escaped labels, and an end mark")
  func text() {
    var metrics = OpenMetrics()
    metrics.add(
      "crashd_losses", .counter, "What could\nnot be kept.", by: "kind", ["b": 2, "a\"\\\n": 1])
    metrics.add("crashd_reports", .gauge, "Reports.", 3)
    metrics.add("crashd_none", .gauge, "Nothing.", by: "kind", [:])
    #expect(
      metrics.ended == #"""
        # HELP crashd_losses What could\nnot be kept.
        # TYPE crashd_losses counter
        crashd_losses_total{kind="a\"\\\n"} 1
        crashd_losses_total{kind="b"} 2
        # HELP crashd_reports Reports.
        # TYPE crashd_reports gauge
        crashd_reports 3
        # EOF

        """#)
  }

  @Test(
    "a quote, backslash or line feed followed by a combining mark is escaped",
    arguments: [
      ("x\u{600}\"", "x\u{600}\\\""), ("\"\u{301}", "\\\"\u{301}"), ("\\\u{301}", "\\\\\u{301}"),
      ("\u{600}\n", "\u{600}\\n"), ("\r\n", "\r\\n"),
    ])
  func combined(value: String, escaped: String) {
    var metrics = OpenMetrics()
    metrics.add("m", .gauge, "h", by: "l", [value: 1])
    let sample = metrics.text.unicodeScalars.drop { $0 != "{" }
    // Compare the strings by their scalars, because Swift treats some strings with different scalars as equal.
    #expect(sample.elementsEqual("{l=\"\(escaped)\"} 1\n".unicodeScalars))
  }

  @Test("the method Metrics and the metrics file have the same counts")
  func file() async throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/crashd.prom"
    try await TestDaemon.run(configure: { configuration in
      configuration.settings.metricsFile = path
      configuration.settings.metricsInterval_s = 1
    }) { daemon in
      for id in ["aa", "bb"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      let client = try await daemon.client()
      _ = try await client.call("io.crashshield.Crashd.Remove", ["ids": .array([.string("aa")])])
      let text = try #require(try await client.call("io.crashshield.Crashd.Metrics").string("text"))
      let lines = text.split(separator: "\n")
      #expect(
        lines.contains("crashd_reports 1")
          && lines.contains("crashd_reports_removed_total{reason=\"asked\"} 1"))
      #expect(lines.last == "# EOF")
      // Each second, crashd writes a new file and renames it. The watch reports these renames.
      let renames = try SpoolWatch(directory: directory.path)
      while !Self.read(path).contains("crashd_reports 1\n") {
        try await onThread {
          var wanted = pollfd(fd: renames.descriptor.number, events: Int16(POLLIN), revents: 0)
          // Invariant: poll() reads and writes one pollfd. The timeout ends the test if crashd never writes the file.
          guard unsafe poll(&wanted, 1, 300_000) == 1 else { throw SystemError("await the file", code: ETIMEDOUT) }
        }
        _ = renames.read()
      }
      // A rename replaces the whole file, so a reader never sees an incomplete file.
      #expect(Self.read(path).hasSuffix("# EOF\n"))
    }
  }

  @Test("the metrics have crashes, last crashes and incidents by program, with escaped labels")
  func programs() {
    var metrics = OpenMetrics()
    CrashdInterface.add(
      crashes: [
        EventCount(
          program: "shop\"", unit: "shop.service", kind: "SIGILL", detail: "trap", count: 3,
          last: "2026-11-21T08:00:00.000000Z"),
        EventCount(
          program: "shop\"", unit: "shop.service", kind: "SIGSEGV", detail: "null-pointer", count: 1,
          last: "2026-11-21T08:00:07.900000Z"),
      ],
      incidents: [
        EventCount(program: "shop", unit: "", kind: "guard", detail: "index", count: 2, last: "")
      ], to: &metrics)
    let lines = metrics.text.split(separator: "\n").filter { !$0.hasPrefix("# HELP") }
    #expect(
      lines == [
        "# TYPE crashd_crashes counter",
        #"crashd_crashes_total{uid="0",program="shop\"",unit="shop.service",signal="SIGILL",cause="trap"} 3"#,
        #"crashd_crashes_total{uid="0",program="shop\"",unit="shop.service",signal="SIGSEGV",cause="null-pointer"} 1"#,
        "# TYPE crashd_last_crash_timestamp_seconds gauge",
        #"crashd_last_crash_timestamp_seconds{uid="0",program="shop\"",unit="shop.service"} 1795248007"#,
        "# TYPE crashd_incidents counter",
        #"crashd_incidents_total{uid="0",program="shop",source="guard",kind="index"} 2"#,
      ])
  }

  @Test("the metrics for one user have its crashes and groups, and the version; root's metrics have everything")
  func users() async throws {
    try await TestDaemon.run(configure: { $0.commit = "0123abcd" }) { daemon in
      var report = try CrashReport.sample(id: "aa")
      report.process.uid = 12_345
      _ = try daemon.store.put(report, raw: [])
      let client = try await daemon.client()
      let all = try #require(try await client.call("io.crashshield.Crashd.Metrics").string("text"))
      #expect(all.contains("crashd_build_info{version=\"\(ProductVersion.number)\",commit=\"0123abcd\"} 1\n"))
      #expect(all.contains("crashd_crashes_total{uid=\"12345\",program=\"shop\""))
      #expect(all.contains("crashd_groups{state=\"open\"} 1\n"))
      let other = try await daemon.client(as: TestUser(uid: 54_321, gid: 54_321))
      let own = try #require(try await other.call("io.crashshield.Crashd.Metrics").string("text"))
      #expect(!own.contains("crashd_crashes_total") && own.contains("crashd_groups{state=\"open\"} 0\n"))
    }
  }

  @Test("a regressed group is counted, however many groups occurred after it")
  func regressed() async throws {
    try await TestDaemon.run { daemon in
      let store = daemon.store
      for number in 0...CrashdInterface.countedGroups + 1 {
        var report = try CrashReport.sample(id: "a\(number)")
        report.time = number == 0 ? "2026-11-21T08:00:00.000000Z" : "2026-11-21T09:00:00.000000Z"
        report.group = CrashReport.Group(key: "cafe" + String(number, radix: 16), title: "t")
        _ = try store.put(report, raw: [])
      }
      _ = try store.setResolved(true, group: "cafe0", at: "2026-11-21T07:00:00.000000Z")
      _ = try store.setResolved(true, group: "cafe1f5", at: "2026-11-21T10:00:00.000000Z")
      #expect(try store.resolvedGroups() == (1, 1))
      let client = try await daemon.client()
      let text = try #require(try await client.call("io.crashshield.Crashd.Metrics").string("text"))
      #expect(text.contains("crashd_groups{state=\"regressed\"} 1\n"))
      #expect(text.contains("crashd_groups{state=\"resolved\"} 1\n"))
    }
  }

  @Test("the alerts and the dashboard use exactly the metrics that crashd prints")
  func alerts() async throws {
    let root = #filePath.dropLast("Tests/Unit/CrashDaemonTests/MetricsTests.swift".count)
    var used: Set<String> = []
    for file in ["alerts.yaml", "alerts.test.yaml", "dashboard.json"] {
      let text = Self.read("\(root)packaging/prometheus/\(file)")
      try #require(text.contains("crashd_crashes_total"), "\(file)")
      used.formUnion(text.matches(of: /crashd_[a-z_]+/).map { String($0.output) })
    }
    try await TestDaemon.run(configure: { $0.settings.forward = [ForwardSettings(path: "/nowhere")] }) { daemon in
      _ = try daemon.store.put(.sample(id: "aa"), raw: [])
      try daemon.store.put(incidents: [
        IncidentReport(
          id: "a", first: "2026-11-21T08:00:00.000000Z", last: "2026-11-21T08:00:00.000000Z", count: 1,
          process: .init(pid: 1, uid: 0, name: "shop", executable: "/srv/shop", buildID: "ab"), source: .quarantine,
          kind: .call, mode: .absorb, subject: "S", sentence: "s", confidence: .certain)
      ])
      let client = try await daemon.client()
      _ = try daemon.store.enter(subscriber: "pager", uid: 0, at: Moment.now().description)
      var printed: Set<String> = []
      // The metrics contain a collector only after crashd has tried to connect to it.
      while !printed.contains("crashd_forward_behind") {
        let text = try #require(try await client.call("io.crashshield.Crashd.Metrics").string("text"))
        printed = Set(
          text.split(separator: "\n").filter { !$0.hasPrefix("#") }.map { line in
            String(line.prefix { $0 != "{" && $0 != " " })
          })
      }
      #expect(used.subtracting(printed).isEmpty, "not printed")
    }
  }

  @Test("the metrics have counters of cross-checks and fetches if there were any, and a gauge of waiting jobs")
  func helpers() {
    var metrics = OpenMetrics()
    CrashdInterface.addHelpers(to: &metrics, unwindings: [:], fetches: [:])
    #expect(metrics.text.isEmpty)
    CrashdInterface.addHelpers(
      to: &metrics, unwindings: ["equal": 2, "skipped": 1], fetches: ["fetched": 3, "waiting": 4])
    let lines = metrics.text.split(separator: "\n").filter { !$0.hasPrefix("# HELP") }
    #expect(
      lines == [
        "# TYPE crashd_unwindings counter", "crashd_unwindings_total{outcome=\"equal\"} 2",
        "crashd_unwindings_total{outcome=\"skipped\"} 1", "# TYPE crashd_debug_information counter",
        "crashd_debug_information_total{outcome=\"fetched\"} 3",
        "# TYPE crashd_debug_information_waiting gauge", "crashd_debug_information_waiting 4",
      ])
  }

  private static func read(_ path: String) -> String {
    (try? String(decoding: Data(contentsOf: URL(fileURLWithPath: path)), as: UTF8.self)) ?? ""
  }

  @Test("the processes of a user that attaches too often are refused for a while, but not those of root and others")
  func rate() {
    var rate = AttachRate(perMinute: 60)
    let second: UInt64 = 1_000_000_000
    var admitted = 0
    for _ in 0..<100 where rate.admit(1_000, as: 1_000, at: 5 * second) { admitted += 1 }
    #expect(admitted == 60)
    let (root, other) = (rate.admit(0, as: 0, at: 5 * second), rate.admit(1_001, as: 1_001, at: 5 * second))
    #expect(root && other)
    // When the limit is reached, crashd allows one more attach each second.
    let later = [6, 6, 7].map { rate.admit(1_000, as: 1_000, at: UInt64($0) * second + 1_000) }
    #expect(later == [true, false, true])
  }
}

import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Simulated incidents of 2,500 call sites that use freed objects: every fifth call site in two processes, and every
/// fiftieth in three.
///
/// The incidents are more than one call of `Incidents` returns.
struct ManySites {
  private static let count = 2_500

  let incidents: [IncidentReport]

  init() {
    incidents = (0..<Self.count).flatMap { site in
      Self.processes(of: site).map { ring in
        let time = "2026-11-21T10:00:00.\(100_000 + site)Z"
        return IncidentReport(
          id: "\(ring)-\(site)", first: time, last: time, count: site + 1,
          process: IncidentReport.Process(
            pid: 7, uid: Int(geteuid()), name: "shop", executable: "/srv/shop", buildID: "build of \(ring)"),
          source: "quarantine", kind: "call", mode: "zero", subject: "App.Session", sentence: "", confidence: "certain",
          method: "Session.greet()",
          use: [
            CrashReport.Frame(
              address: Address(0x1000), function: "serve\(site)()", mangled: "", file: "/src/Shop.swift", line: site,
              image: "/srv/shop", isOwn: true, trust: .cfi)
          ])
      }
    }
  }

  private static func processes(of site: Int) -> [String] {
    site % 50 == 0 ? ["aa", "bb", "cc"] : site % 5 == 0 ? ["aa", "bb"] : ["aa"]
  }

  /// Checks that the groups are the simulated call sites, in the order of the last use, newest first.
  func expect(_ groups: [DanglingGroup]) {
    #expect(groups.map(\.place) == (0..<Self.count).reversed().map { "serve\($0)()" })
    for (site, group) in zip((0..<Self.count).reversed(), groups) {
      let processes = Self.processes(of: site)
      #expect(group.count == (site + 1) * processes.count && group.line == "Shop.swift:\(site)")
      #expect(group.processes == processes.count && group.builds == processes.count)
    }
  }
}

import CrashProtocol
import CrashRing
import CrashStore
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Shares of users in the health of builds")
struct HealthShareTests {
  private let hour = Int(Moment.now().nanoseconds / 3_600_000_000_000)

  /// The counts of `count` builds of one user, all of which are newer than the builds of another user.
  private func changes(_ count: Int) -> [HealthChange] {
    let many = (0..<count).map { number in
      HealthCallTests.change("many\(number)", hours: hour - 100..<hour - 99, crashes: 1, release: "\(number)")
    }
    let few = (0..<2).map { number in
      HealthCallTests.change(
        "few\(number)", hours: hour - 300 + number..<hour - 299 + number, crashes: 1, uid: 4_000, release: "\(number)")
    }
    return many + few
  }

  @Test("a user with many new builds does not displace the comparisons of another user's builds")
  func comparisons() async throws {
    try await TestDaemon.run { daemon in
      try daemon.store.add(health: changes(2 * CrashdInterface.comparedBuilds), marks: [])
      let client = try await daemon.client()
      let builds = try await HealthCallTests.health(client).builds
      #expect(builds.count { $0.comparison != nil } == CrashdInterface.comparedBuilds - 1)
      // A user's first build has no earlier build to compare with.
      #expect(builds.filter { $0.uid == 4_000 }.map { $0.comparison?.against } == [nil, "few0"])
    }
  }

  @Test("a user with many new builds does not displace the metrics of another user's builds")
  func metrics() async throws {
    try await TestDaemon.run { daemon in
      try daemon.store.add(health: changes(2 * CrashdInterface.countedBuilds), marks: [])
      let lines = try await lines(daemon)
      #expect(lines.count == CrashdInterface.countedBuilds)
      #expect(lines.count { $0.contains("uid=\"4000\"") } == 2)
    }
  }

  @Test("builds with equal labels are one sample, with the sum of their counts")
  func labels() async throws {
    try await TestDaemon.run { daemon in
      let hours = hour - 100..<hour - 99
      try daemon.store.add(
        health: [
          HealthCallTests.change("aa", hours: hours, crashes: 3, release: "1"),
          HealthCallTests.change("aa", hours: hours, crashes: 4, isRestricted: true, release: "1"),
          HealthCallTests.change("aa", hours: hours, crashes: 5, uid: 4_000, release: "1"),
        ], marks: [])
      let labels = { (uid: Int) in "{uid=\"\(uid)\",program=\"shop\",build=\"aa\",release=\"1\"}" }
      #expect(
        try await Set(lines(daemon)) == [
          "crashd_build_crashes_total\(labels(1_000)) 7", "crashd_build_crashes_total\(labels(4_000)) 5",
        ])
    }
  }

  /// Returns the lines of the metrics with the crashes of builds.
  private func lines(_ daemon: TestDaemon) async throws -> [String] {
    let reply = try await daemon.client().call("io.crashshield.Crashd.Metrics", [:])
    guard case .string(let text)? = reply["text"] else { throw ProtocolError.invalidParameter("text") }
    return text.split(separator: "\n").map(String.init).filter { $0.hasPrefix("crashd_build_crashes_total{") }
  }
}

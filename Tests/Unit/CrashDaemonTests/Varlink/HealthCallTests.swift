import CrashProtocol
import CrashRing
import FoundationEssentials
import GRDB
import Glibc
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("Health of builds in replies to clients")
struct HealthCallTests {
  private static let method = "io.crashshield.Crashd.Health"

  static func health(
    _ client: TestClient, _ parameters: [String: JSONValue] = [:]
  ) async throws -> HealthReport {
    let reply = try await client.call(method, parameters)
    return try JSONDecoder().decode(HealthReport.self, from: JSONEncoder().encode(JSONValue.object(reply)))
  }

  /// Returns a build's counts: in each of these hours, it ran for an hour and began 1,000 requests.
  static func change(
    _ build: String, hours: Range<Int>, crashes: Int, uid: UInt32 = 1_000, isRestricted: Bool = false, release: String
  ) -> HealthChange {
    let first = Moment(nanoseconds: UInt64(hours.lowerBound) * 3_600_000_000_000).description
    var change = HealthChange(
      HealthKey(uid: uid, isRestricted: isRestricted, program: "shop", build: build), first: first, last: first)
    change.release = release
    for hour in hours {
      var counts = HealthCounts()
      (counts.time_ms, counts.begun, counts.finished) = (3_600_000, 1_000, 990)
      change.hours[hour] = counts
    }
    change.hours[hours.lowerBound]?.crashes = crashes
    change.hours[hours.lowerBound]?.lost = crashes
    return change
  }

  @Test("builds are in the order of first seen, each compared with the one before, and a call compares any two")
  func builds() async throws {
    try await TestDaemon.run { daemon in
      // The hours are recent, because the store removes hours that are more than 90 days old.
      let start = Int(Moment.now().nanoseconds / 3_600_000_000_000) - 200
      try daemon.store.add(
        health: [
          Self.change("cc", hours: start + 110..<start + 115, crashes: 0, release: "1.2"),
          Self.change("aa", hours: start..<start + 100, crashes: 4, release: "1.0"),
          Self.change("bb", hours: start + 100..<start + 105, crashes: 9, release: "1.1"),
          Self.change("dd", hours: start..<start + 1, crashes: 1, uid: 4_000, release: "1.0"),
        ], marks: [])
      let client = try await daemon.client()
      let report = try await Self.health(client, ["name": .string("shop")])
      let builds = report.builds.filter { $0.uid == 1_000 }
      try #require(builds.map(\.build) == ["aa", "bb", "cc"])
      #expect(report.comparison == nil)
      let (old, new) = (builds[0], builds[1])
      #expect(old.processSeconds == 360_000 && old.requests?.begun == 100_000 && old.crashesPerThousandHours == 40)
      #expect(old.rateLower.map { $0 < 40 } == true && old.rateUpper.map { $0 > 40 } == true)
      #expect(new.comparison?.isWorse == true && new.comparison?.against == "aa")
      #expect(new.comparison?.measure == "requests" && new.comparison?.newCrashes == 9)
      #expect(new.comparison?.expectedCrashes.map { abs($0 - 0.2) < 1e-9 } == true)
      let asked = try await Self.health(client, ["build": .string("1.2"), "against": .string("1.1")])
      #expect(asked.comparison?.build == "cc" && asked.comparison?.isWorse == false)
      let late = try await Self.health(
        client, ["since": .string(Moment(nanoseconds: UInt64(start + 110) * 3_600_000_000_000).description)])
      #expect(late.builds.map(\.build) == ["cc"] && late.builds.first?.comparison?.against == "bb")
      #expect(try await client.call(Self.method, ["build": .string("zz")]) == ["build": .string("zz")])
      #expect(try await client.call(Self.method, ["since": .string("never")]) == ["parameter": .string("since")])
    }
  }

  @Test("a call counts an attached process up to the time of the call")
  func attached() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      #expect(try await Self.health(client).builds.isEmpty)
      let process = try await daemon.attach()
      var ring = TestRing()
      ring.countRequests(begun: 7, finished: 4, failed: 1)
      #expect(try await process.attach(ring.memory()) == .accepted)
      _ = try await client.call(
        "io.crashshield.Crashd.AwaitProcess", ["pid": .int(Int(getpid())), "timeout_ms": .int(600_000)])
      // crashd updates its counts at most once a second. Until the next update, the reply lacks the process, so the
      // test repeats the call.
      var builds: [BuildHealth] = []
      while builds.isEmpty { builds = try await Self.health(client).builds }
      let build = try #require(builds.first)
      #expect(build.running == 1 && build.program == "shop" && build.crashes == 0)
      #expect(build.requests == .init(begun: 7, finished: 4, failed: 1, lost: 0) && build.comparison == nil)
    }
  }

  @Test("damaged numbers of the store are limited or skipped, and crashd goes on")
  func damaged() async throws {
    try await TestDaemon.run { daemon in
      let start = Int(Moment.now().nanoseconds / 3_600_000_000_000) - 10
      try daemon.store.add(
        health: [
          Self.change("aa", hours: start..<start + 5, crashes: 4, release: "1.0"),
          Self.change("bb", hours: start..<start + 5, crashes: 9, release: "1.1"),
        ], marks: [])
      let numbers = ["\(Int.max)", "\(Int.min)", "9e999", "-9e999", "'x'", "x'00ff'", "-1"]
      let columns = ReportStore.healthColumns.split(separator: ", ")
      let client = try await daemon.client()
      for number in numbers {
        try daemon.store.write { database in
          for table in ["health_builds", "health_hours"] {
            for column in columns { try database.execute(sql: "UPDATE \(table) SET \(column) = \(number)") }
          }
          for (key, other) in [("hour", "bucket"), ("bucket", "hour")] {
            try database.execute(
              sql: """
                INSERT OR REPLACE INTO health_returns (uid, program, build, \(other), \(key), count)
                VALUES (1000, 'shop', 'aa', 3, \(number), \(number)), (1000, 'shop', 'aa', 4, \(number), \(Int.max))
                """)
          }
          try database.execute(
            sql: """
              INSERT OR REPLACE INTO health_hours (uid, program, build, hour, \(ReportStore.healthColumns))
              SELECT uid, program, build, \(number), \(ReportStore.healthColumns) FROM health_hours
              """)
        }
        let report = try await Self.health(client, ["build": .string("bb"), "against": .string("aa")])
        #expect(report.builds.count == 2 && report.comparison != nil, "\(number)")
        for build in report.builds {
          #expect(0...HealthCounts.most ~= build.crashes && build.processSeconds >= 0 && build.returns >= 0)
        }
        _ = try await Self.health(client, ["since": .string("1970-01-01T00:00:00Z")])
        #expect(try await client.call("io.crashshield.Crashd.Metrics", [:])["text"] != nil)
      }
    }
  }
}

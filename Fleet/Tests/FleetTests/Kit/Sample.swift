import CrashReport
import FleetStore
import Foundation

/// Reports and counters for tests.
enum Sample {
  static let now_us = Int64(Date().timeIntervalSince1970) * 1_000_000

  static func group(_ key: String = "a1", version: Int32 = 1) -> IncomingGroup {
    IncomingGroup(
      key: key, version: version, title: "title of \(key)", coarse: nil, cause: "null-pointer", signal: "SIGSEGV")
  }

  static func report(
    _ id: UInt128, group: String = "a1", revision: Int64 = 1, host: UInt128 = 7, program: String = "shop",
    build: String = "b1", age_s: Int64 = 0, version: Int32 = 1, body: String = "{}"
  ) -> IngestItem {
    .report(
      IncomingReport(
        id: id, revision: revision, time_us: now_us - age_s * 1_000_000,
        host: IncomingHost(machine: host, name: "web-\(host)"), build: IncomingBuild(program: program, build: build),
        group: self.group(group, version: version), body: Array(body.utf8)[...]))
  }

  static func count(
    _ crashes: Int64, group: String = "a1", run: Int64 = 1, host: UInt128 = 7, build: String = "b1", hour: Int64? = nil
  ) -> IngestItem {
    .count(
      IncomingCount(
        host: IncomingHost(machine: host, name: "web-\(host)"), build: IncomingBuild(program: "shop", build: build),
        group: self.group(group), hour: hour ?? now_us / 3_600_000_000, run: run, crashes: crashes))
  }

  static func hex(_ number: Int) -> String {
    let digits = String(number, radix: 16)
    return String(repeating: "0", count: 32 - digits.count) + digits
  }

  static func time(age_s: Int64 = 0) -> String {
    Timestamp.string(since1970_ns: UInt64(now_us - age_s * 1_000_000) * 1_000)
  }

  /// One line of a request body, with a report as crashd writes it.
  static func line(_ id: Int, group: String = "a1", host: Int = 7, build: String = "b1", revision: Int = 1) -> String {
    """
    {"revision":\(revision),"report":{"id":"\(hex(id))","time":"\(time())","process":{"name":"shop",\
    "buildID":"\(build)","unit":"shop.service"},"signal":{"name":"SIGSEGV"},"diagnosis":{"cause":"null-pointer"},\
    "group":{"key":"\(group)","title":"title of \(group)","version":1},"machine":{"id":"\(hex(host))",\
    "host":"web-\(host)"},"threads":[],"annotations":{"user":"17"},"release":null}}
    """
  }
}

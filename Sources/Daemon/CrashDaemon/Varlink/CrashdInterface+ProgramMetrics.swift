import CrashProtocol
import CrashReport
import CrashStore

/// Builds the metrics about programs: crashes, the times of crashes, and open crash groups.
extension CrashdInterface {
  /// The maximum number of crash groups that are checked for being new or open.
  ///
  /// Only the most recent groups are checked, because each check needs several queries.
  static let countedGroups = 500

  func addBuild(to metrics: inout OpenMetrics) {
    metrics.add(
      "crashd_build_info", .gauge, "Always 1; the labels name the version of crashd and the commit of its build.",
      by: ["version", "commit"], [([ProductVersion.number, commit], 1)])
  }

  func addPrograms(to metrics: inout OpenMetrics, _ visibility: Visibility) throws(ProtocolError) {
    let (crashes, incidents, groups, decided) = try reading { () throws(StoreError) in
      (
        try store.counts(of: .crash, visibility: visibility), try store.counts(of: .incident, visibility: visibility),
        try store.groups(visibility: visibility, limit: Self.countedGroups),
        try store.resolvedGroups(visibility: visibility)
      )
    }
    Self.add(crashes: crashes, incidents: incidents, to: &metrics)
    try addHealth(to: &metrics, visibility)
    metrics.add(
      "crashd_groups", .gauge,
      "Groups of equal crashes by state. Resolved and regressed groups are counted in full; new ones (first seen "
        + "in the newest of several builds) and open ones only among the \(Self.countedGroups) that occurred last.",
      by: "state",
      [
        "new": groups.count { $0.state == "new" }, "open": groups.count { $0.state == "open" },
        "resolved": decided.resolved, "regressed": decided.regressed,
      ])
  }

  /// Adds the numbers of requests by build.
  func addRequests(to metrics: inout OpenMetrics, _ visibility: Visibility) {
    Self.add(requests: pipeline.requests(for: visibility), to: &metrics)
  }

  static func add(requests: [(key: RequestTotals.Key, counts: RequestTotals.Counts)], to metrics: inout OpenMetrics) {
    let labels = { (key: RequestTotals.Key) in ["\(key.uid)", key.program, key.build] }
    metrics.add(
      "crashd_requests_begun", .counter,
      "Requests that programs began, by build, of the processes that crashd has seen since it started. Builds beyond the "
        + "limit of their user count as other.",
      by: ["uid", "program", "build"], requests.map { (labels($0.key), $0.counts.begun) })
    metrics.add(
      "crashd_requests_ended", .counter,
      "Requests that ended: finished, failed by an error, or lost because their process ended.",
      by: ["uid", "program", "build", "outcome"],
      requests.flatMap { request in
        [
          ("failed", request.counts.failed), ("finished", request.counts.finished), ("lost", request.counts.lost),
        ].map { (labels(request.key) + [$0.0], $0.1) }
      })
    metrics.add(
      "crashd_requests_contained", .counter,
      "Requests that a trap ended without ending their process. They also count as failed.",
      by: ["uid", "program", "build"],
      requests.filter { $0.counts.contained > 0 }.map { (labels($0.key), $0.counts.contained) })
    metrics.add(
      "crashd_drains", .counter,
      "Processes that finished their requests after a trap, by what ended the drain. The end of a drain whose process was "
        + "killed is interrupted.",
      by: ["uid", "program", "build", "end"],
      requests.flatMap { request in
        request.counts.drains.sorted { $0.key < $1.key }.map { (labels(request.key) + [$0.key], $0.value) }
      })
  }

  static func add(crashes: [EventCount], incidents: [EventCount], to metrics: inout OpenMetrics) {
    metrics.add(
      "crashd_crashes", .counter,
      "Crashes by program since crashd created its database. Restarts of crashd and removed reports do not change it. "
        + "Programs beyond the limit of their user count as other.",
      by: ["uid", "program", "unit", "signal", "cause"],
      crashes.map { (["\($0.uid)", $0.program, $0.unit, $0.kind, $0.detail], $0.count) })
    let last = crashes.reduce(into: [[String]: Int]()) { last, count in
      let seconds = Int((Timestamp.nanoseconds(rfc3339: count.last) ?? 0) / 1_000_000_000)
      last[["\(count.uid)", count.program, count.unit], default: 0].raise(to: seconds)
    }
    metrics.add(
      "crashd_last_crash_timestamp_seconds", .gauge, "Time of the last crash of a program, in seconds since 1970.",
      by: ["uid", "program", "unit"],
      last.sorted { $0.key.lexicographicallyPrecedes($1.key) }.map { ($0.key, $0.value) })
    metrics.add(
      "crashd_incidents", .counter,
      "Faults that programs survived, by the part of the shield that recorded them and their kind, since crashd's "
        + "database was created.",
      by: ["uid", "program", "source", "kind"],
      incidents.map { (["\($0.uid)", $0.program, $0.kind, $0.detail], $0.count) })
  }
}

extension Int {
  fileprivate mutating func raise(to other: Int) { self = Swift.max(self, other) }
}

import CrashProtocol
import CrashStore

/// Builds the metrics about the health of builds.
extension CrashdInterface {
  /// The maximum number of builds with metrics of their own.
  ///
  /// The number is shared fairly between users. Of each user, the builds that were seen most recently have metrics.
  static let countedBuilds = 256

  func addHealth(to metrics: inout OpenMetrics, _ visibility: Visibility) throws(ProtocolError) {
    let builds = Self.merged(try reading { () throws(StoreError) in try store.health(visibility: visibility) })
    let counted = store.fairShare(Self.countedBuilds, of: builds)
    let samples = { (value: (HealthCounts) -> Int) in counted.map { (Self.labels($0), value($0.counts)) } }
    metrics.add(
      "crashd_build_process_seconds", .counter,
      "Running time of all processes of a build together, since the build was first seen. It grows every half minute.",
      by: ["uid", "program", "build", "release"], samples { $0.time_ms / 1_000 })
    metrics.add(
      "crashd_build_crashes", .counter, "Processes of a build that a crash ended, since the build was first seen.",
      by: ["uid", "program", "build", "release"], samples(\.crashes))
  }

  private static func labels(_ build: StoredHealth) -> [String] {
    ["\(build.key.uid)", build.key.program, build.key.build, build.release ?? ""]
  }

  /// Adds up builds with equal labels, and sorts the sums by the time they were last seen, the newest first.
  ///
  /// A build that ran both with and without more privileges than its user has two entries in the store.
  private static func merged(_ builds: [StoredHealth]) -> [StoredHealth] {
    let sums = builds.reduce(into: [[String]: StoredHealth]()) { sums, build in
      let labels = labels(build)
      guard var sum = sums[labels] else { return sums[labels] = build }
      (sum.counts, sum.last) = (sum.counts + build.counts, max(sum.last, build.last))
      sums[labels] = sum
    }
    return sums.sorted { one, other in
      guard one.value.last == other.value.last else { return one.value.last > other.value.last }
      return one.key.lexicographicallyPrecedes(other.key)
    }.map(\.value)
  }
}

import CrashProtocol
import CrashStore
import DanglingStatistics

/// Implements the interface method `Health`, which compares the crashes of builds.
extension CrashdInterface {
  static func bindHealth(in table: inout HandlerTable) {
    table.bind(Methods.Health.self, CrashdInterface.health)
  }

  /// The maximum number of builds that the reply compares with their predecessors.
  ///
  /// The number is shared fairly between users. Of each user, the reply compares the builds that were introduced most
  /// recently.
  static let comparedBuilds = 40

  func health(_ parameters: Methods.Health.Parameters, _ client: Client) async throws(ProtocolError) -> HealthReport {
    let since = try time(parameters.since, "since").flatMap { Moment(rfc3339: $0) }
    let (name, visibility) = (parameters.name.map { String($0.prefix(128)) }, client.visibility)
    await pipeline.analysis.health?.refresh()
    let hour = since.map { Int(clamping: $0.nanoseconds / 3_600_000_000_000) }
    let (counted, all) = try reading { () throws(StoreError) in
      let all = try store.health(name: name, visibility: visibility)
      return (hour == nil ? all : try store.health(name: name, since: hour, visibility: visibility), all)
    }
    let running = pipeline.analysis.health?.running() ?? [:]
    var builds = counted.map { BuildHealth($0, running: running[$0.key] ?? 0) }
    let compared = Set(store.fairShare(Self.comparedBuilds, of: counted.reversed()).map(\.key))
    for index in builds.indices where compared.contains(counted[index].key) {
      guard let old = Self.predecessor(of: counted[index].key, in: all) else { continue }
      builds[index].comparison = try verdict(counted[index].key, against: old)
    }
    guard parameters.build != nil || parameters.against != nil else { return HealthReport(builds: builds) }
    let pair = try Self.pair(parameters.build, parameters.against, in: all)
    return HealthReport(builds: builds, comparison: try verdict(pair.new, against: pair.old))
  }

  private func verdict(_ new: HealthKey, against old: HealthKey) throws(ProtocolError) -> BuildVerdict {
    let (newHours, oldHours) = try reading { () throws(StoreError) in
      (try store.healthHours(of: new), try store.healthHours(of: old))
    }
    let hours = { (rows: [(hour: Int, counts: HealthCounts)]) in
      rows.map { row in
        RolloutComparison.Hour(
          hour: row.hour, seconds: Double(row.counts.time_ms) / 1_000,
          sharedSeconds: Double(row.counts.shared_ms) / 1_000, requests: Double(row.counts.begun),
          crashes: row.counts.crashes)
      }
    }
    let comparison = RolloutComparison(new: hours(newHours), old: hours(oldHours))
    return BuildVerdict(
      build: new.build, against: old.build, isWorse: comparison.isWorse, evidence: comparison.value,
      threshold: RolloutComparison.threshold, measure: comparison.measure.rawValue,
      newCrashes: comparison.newCrashes, oldCrashes: comparison.oldCrashes, expectedCrashes: comparison.expected)
  }

  /// Returns the build of the same program that was first seen directly before the given build.
  static func predecessor(of key: HealthKey, in builds: [StoredHealth]) -> HealthKey? {
    builds.prefix { $0.key != key }.last { $0.key.isSameProgram(as: key) }?.key
  }

  /// Selects the two builds of a comparison.
  /// - Throws: `ProtocolError.noSuchBuild`.
  static func pair(
    _ new: String?, _ old: String?, in builds: [StoredHealth]
  ) throws(ProtocolError) -> (new: HealthKey, old: HealthKey) {
    if let new {
      let key = try only(new, in: builds)
      guard let old else {
        guard let before = predecessor(of: key, in: builds) else { throw .noSuchBuild("") }
        return (key, before)
      }
      return (key, try only(old, in: builds.filter { $0.key.isSameProgram(as: key) }))
    }
    let before = try only(old ?? "", in: builds)
    guard let newest = builds.last(where: { $0.key.isSameProgram(as: before) && $0.key != before })?.key else {
      throw .noSuchBuild("")
    }
    return (newest, before)
  }

  /// Selects a build whose ID is `word`, or else whose release is `word`, or else whose ID begins with `word`.
  ///
  /// Several builds of one program can have the same release. In this case, the method selects the newest of these
  /// builds.
  private static func only(_ word: String, in builds: [StoredHealth]) throws(ProtocolError) -> HealthKey {
    let ways: [(StoredHealth) -> Bool] = [
      { $0.key.build == word }, { $0.release == word }, { $0.key.build.hasPrefix(word) },
    ]
    for (index, matches) in ways.enumerated() where !word.isEmpty {
      let found = builds.filter(matches)
      guard let last = found.last else { continue }
      let isClear = index == 2 ? found.count == 1 : found.allSatisfy { $0.key.isSameProgram(as: last.key) }
      guard isClear else { break }
      return last.key
    }
    throw .noSuchBuild(String(word.prefix(128)))
  }
}

extension BuildHealth {
  init(_ stored: StoredHealth, running: Int) {
    self.init(
      uid: Int(stored.key.uid), program: stored.key.program, build: stored.key.build, release: stored.release,
      environment: stored.environment, firstSeen: stored.first, lastSeen: stored.last)
    let counts = stored.counts
    self.running = running
    processSeconds = Double(counts.time_ms) / 1_000
    if counts.begun > 0 {
      requests = Requests(begun: counts.begun, finished: counts.finished, failed: counts.failed, lost: counts.lost)
    }
    crashes = counts.crashes
    if let rate = EventRate(events: Double(counts.crashes), exposure: processSeconds / 3_600_000) {
      (crashesPerThousandHours, rateLower, rateUpper) = (rate.estimate, rate.interval.lower, rate.interval.upper)
    }
    timeToBack_ms = ReturnBucket.median_ms(stored.returns)
    returns = stored.returns.values.reduce(0, +)
  }
}

import CrashReport
import CrashRing
import CrashStore
import Logging

/// Moves incidents, which are faults that the process survived, from a process's ring (the memory for its records) to
/// the store.
extension CrashAnalysis {
  /// The number of occurrences of each incident of a ring, as crashd last read it.
  ///
  /// The key is the number that identifies the incident in the ring.
  typealias Occurrences = [UInt64: UInt64]

  /// Stores the incidents of a ring that are new or have occurred again since crashd last read the ring.
  /// - Parameters:
  ///   - process: The process of the ring.
  ///   - seen: The occurrences that the previous call returned.
  ///   - whenUnstored: A closure that runs if the store did not accept the incidents, so that the caller reads them
  ///     again later.
  /// - Returns: The occurrences that this call found.
  func observe(
    _ process: AttachedProcess, seen: Occurrences, whenUnstored: () -> Void = {}
  ) async -> Occurrences {
    let (found, classes, images) = process.ring.observations()
    var incidents = found
    if let times = process.facts.times { process.crashTimes.correct(&incidents, times) }
    let changed = Self.new(incidents, seen: seen)
    guard !changed.isEmpty else {
      await policy?.saw([], classes, of: process)
      return seen
    }
    let builder = IncidentBuilder(
      images: images, process: process.facts, symbols: await openCaches(for: changed, images, of: process),
      requests: process.ring.requests(numbered: Set(changed.compactMap(\.requestNumber))))
    let reports = changed.map { builder.report(of: $0) }
    do throws(StoreError) {
      // Store all incidents of one reading in one transaction, so that a flood of incidents does not delay crashes.
      try store.put(incidents: reports)
    } catch {
      ledger.postpone("incidents", of: process.facts.peer, process: process.facts.identity.name, because: "\(error)")
      // After a failure, the occurrences in `seen` stay unchanged, so the next reading finds the incidents again.
      whenUnstored()
      await policy?.saw([], classes, of: process)
      return seen
    }
    hub.notifyOfIncidents(of: process.facts)
    var result = seen
    let news = zip(changed, reports).map { incident, report in
      result[incident.key] = incident.count
      return PolicyKeeper.News(
        incident: incident, isFirst: seen[incident.key] == nil, group: Self.group(of: report))
    }
    await policy?.saw(news, classes, of: process)
    return result
  }

  /// Passes the counters of a process's protected classes to the keeper of the protection policy.
  func sampleClasses(of process: AttachedProcess) async {
    guard let policy else { return }
    await policy.saw([], process.ring.observations().classes, of: process)
  }

  /// Counts the unstored incidents of an ended process as lost, because its ring is not read again.
  func loseUnstored(of process: AttachedProcess, seen: Occurrences) {
    let count = Self.new(process.ring.observations().incidents, seen: seen).count
    if count == 0 { return }
    ledger.lose(["incidents": count], of: process.facts.peer, process: process.facts.identity.name)
  }

  /// Returns the incidents that have more occurrences than `seen` contains.
  ///
  /// An incident that led to a crash is excluded, because the crash report contains it.
  private static func new(_ incidents: [Incident], seen: Occurrences) -> [Incident] {
    incidents.filter { seen[$0.key] != $0.count && !$0.isOfCrash }
  }

  /// Returns a key of the call site of an incident: the class, the access kind, and the names of the three innermost
  /// in-app functions.
  ///
  /// Line numbers are not part of the key.
  private static func group(of report: IncidentReport) -> String {
    let own = report.use.filter { $0.isOwn && !$0.function.isEmpty }.prefix(3).map(\.function)
    let place = own.isEmpty ? report.use.prefix(3).map(\.address.description) : own
    let parts = [report.subject, report.kind.rawValue] + place
    return String(SHA256.hexadecimal(parts.joined(separator: "\n")).prefix(16))
  }

  private func openCaches(
    for incidents: [Incident], _ images: [RingContents.Image], of process: AttachedProcess
  ) async -> OpenCaches {
    let user = process.facts.peer.uid
    var wanted: [String: Set<UInt64>] = [:]
    for frame in incidents.flatMap({ IncidentBuilder.frames(of: $0, images: images) }) {
      guard let image = images.first(where: { $0.index == frame.image }), !image.buildID.isEmpty else { continue }
      wanted[image.buildID, default: []].insert(frame.linkAddress(in: image))
    }
    let needed = images.filter { wanted[$0.buildID] != nil }
    await caches.prepare(ImageFile.list(needed), for: user)
    return OpenCaches(
      asked: wanted, caches: await caches.caches(of: wanted, for: user, timeout_ms: limits.symbolWait_ms))
  }
}

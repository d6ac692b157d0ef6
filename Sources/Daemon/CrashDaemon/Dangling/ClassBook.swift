import CrashRing
import DanglingStatistics

/// The use-after-free statistics of one service, with one entry for each class in each build.
struct ClassBook: Codable, Sendable {
  /// The maximum number of entries in the statistics.
  ///
  /// If there are more entries, the entries with the fewest hits (detected use-after-free accesses) are evicted.
  static let limit = 512

  private struct Key: Hashable, Codable {
    var build: String
    var className: String
  }

  private struct Entry: Codable {
    var key: Key
    var statistics: ClassStatistics
    /// The number of deallocations of the class per process: the average over the processes of the build.
    var deallocations = 0.0
    /// The number of hits in the current period, which lasts about an hour.
    var hits = 0.0
    var attributed = 0.0
    /// The time at which crashd last read counters of the class, in seconds since 1970.
    var seen_s: Double
  }

  private var entries: [Entry] = []
  private var periodStart_s: Double?

  /// The statistics of all classes, sorted by class and then by build.
  var all: [ClassStatistics] {
    entries.map(\.statistics).sorted { ($0.className, $0.build) < ($1.className, $1.build) }
  }

  /// The statistics of each class, from the build whose counters crashd read most recently.
  var latest: [String: ClassStatistics] {
    var latest: [String: Entry] = [:]
    for entry in entries where (latest[entry.key.className]?.seen_s ?? -1) < entry.seen_s {
      latest[entry.key.className] = entry
    }
    return latest.mapValues(\.statistics)
  }

  /// Updates the statistics of a class by the increase of its counters in one process since the previous reading.
  /// - Parameters:
  ///   - counted: The class with its current counters.
  ///   - before: The class with its counters at the previous reading; nil at the first reading.
  ///   - build: The build of the process.
  ///   - processes: The number of attached processes of this build.
  ///   - time_s: The current time.
  mutating func read(
    _ counted: ProtectedClass, before: ProtectedClass?, build: String, processes: Int, at time_s: Double
  ) {
    let index = self.index(of: Key(build: build, className: counted.name), counted, at: time_s)
    func growth(_ field: (ProtectedClass) -> UInt64) -> Double {
      let (new, old) = (field(counted), before.map(field) ?? 0)
      // Count nothing if a counter has decreased: the program overwrote the counter, or the counter belongs to another
      // process.
      return new >= old ? Double(new - old) : 0
    }
    let (admitted, budget, busy) = (growth(\.admitted), growth(\.skipped.budget), growth(\.skipped.busy))
    let others = growth(\.skipped.unowned) + growth(\.skipped.isolated)
    entries[index].statistics.observe(
      admitted: admitted, skipped: [.budget: budget, .contention: busy, .changing: others])
    entries[index].statistics.slots = Double(counted.limit)
    entries[index].deallocations += (admitted + budget + busy + others) / Double(max(1, processes))
    entries[index].seen_s = time_s
  }

  /// Records a use of a deallocated object that was in the quarantine.
  ///
  /// `delay_s` is the time from the last release to the use; nil if it is unknown or already counted. `group` is the
  /// key of the incident's group: the incidents with the same class, access kind and call site.
  mutating func hit(
    _ className: String, build: String, kind: ClassStatistics.HitKind, delay_s: Double?, group: String,
    at time_s: Double
  ) {
    let index = self.index(of: Key(build: build, className: className), nil, at: time_s)
    entries[index].statistics.observeHit(kind: kind, delay_s: delay_s, group: group)
    entries[index].hits += 1
  }

  /// Records that a handle (a safe reference) of the given class was used after its object was deallocated.
  mutating func handleMiss(_ className: String, build: String, at time_s: Double) {
    let index = self.index(of: Key(build: build, className: className), nil, at: time_s)
    entries[index].statistics.observeHandleMiss()
  }

  /// Records a crash whose cause is a use-after-free of the given class.
  mutating func crash(_ className: String, build: String, at time_s: Double) {
    let index = self.index(of: Key(build: build, className: className), nil, at: time_s)
    entries[index].statistics.observeAttributedCrash()
    entries[index].attributed += 1
  }

  /// Ends a round, in which crashd has read the counters of all processes once.
  ///
  /// If an hour has passed since the last period ended, this function also ends the current period.
  mutating func endRound(at time_s: Double) {
    for index in entries.indices {
      let count = UInt64(min(max(entries[index].deallocations, 0), 0x1p62))
      entries[index].statistics.readDeallocations(count: count, at: time_s)
    }
    let start_s = periodStart_s ?? time_s
    periodStart_s = start_s
    guard time_s - start_s >= 3_600 else { return }
    let days = min((time_s - start_s) / 86_400, 1)
    for index in entries.indices {
      entries[index].statistics.endPeriod(
        days: days, requests: 0, hits: entries[index].hits, attributedCrashes: entries[index].attributed)
      (entries[index].hits, entries[index].attributed) = (0, 0)
    }
    periodStart_s = time_s
  }

  /// Divides the memory budget of the quarantine among classes, according to the evidence of use-after-free for each
  /// class.
  ///
  /// Returns the number of quarantine slots for each class: at least the standard number.
  func split(
    _ classes: [String], budgetBytes: UInt64, using generator: inout some RandomNumberGenerator
  ) -> [String: Int] {
    let known = latest
    let candidates = classes.map { name in
      (known[name]
        ?? ClassStatistics(
          className: name, build: "", bytesPerSlot: Self.bytesPerSlot(nil), slots: Double(ControlPlan.standardLimit)))
        .candidate(using: &generator)
    }
    let slots = BudgetSplit.slots(for: candidates, budgetBytes: Double(budgetBytes))
    return Dictionary(zip(classes, slots)) { first, _ in first }
      .mapValues { min(max($0, ControlPlan.standardLimit), Int(SlotSuggestion.most)) }
  }

  private mutating func index(of key: Key, _ counted: ProtectedClass?, at time_s: Double) -> Int {
    if let index = entries.firstIndex(where: { $0.key == key }) { return index }
    if entries.count >= Self.limit {
      let least = entries.indices.min { left, right in
        (entries[left].statistics.hits.values.reduce(0, +), entries[left].seen_s)
          < (entries[right].statistics.hits.values.reduce(0, +), entries[right].seen_s)
      }
      if let least { entries.remove(at: least) }
    }
    let slots = counted.map { Double($0.limit) } ?? Double(ControlPlan.standardLimit)
    entries.append(
      Entry(
        key: key,
        statistics: ClassStatistics(
          className: key.className, build: key.build, bytesPerSlot: Self.bytesPerSlot(counted), slots: slots),
        seen_s: time_s))
    return entries.count - 1
  }

  /// Returns the memory for one slot of the quarantine: the object, malloc's overhead, and the quarantine's record of
  /// the object.
  private static func bytesPerSlot(_ counted: ProtectedClass?) -> Double {
    Double(counted?.instanceBytes ?? 64) + 16 + 64
  }
}

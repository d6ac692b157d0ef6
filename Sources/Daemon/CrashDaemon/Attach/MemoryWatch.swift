import CLinux
import Glibc
import LinuxSystem

/// Watches the OOM kill counters of the control groups that have attached processes.
///
/// The watch uses inotify if the kernel supports it, and otherwise polls the counters.
struct MemoryWatch {
  /// The minimum polling interval for counters that inotify does not watch.
  ///
  /// If there are many of these counters, the interval is `periodPerGroup_ns` times their number.
  private static let period_ns: UInt64 = 1_000_000_000
  /// The time that each polled counter adds to the polling interval, if there are many counters.
  ///
  /// This time limits polling to about a thousandth of the attach thread's time.
  private static let periodPerGroup_ns: UInt64 = 16_000_000

  private(set) var groups: MemoryGroups
  /// The inotify descriptor; nil if inotify is not available.
  ///
  /// Without inotify, all counters are polled.
  let descriptor: Descriptor?
  private var watches: [String: Int32] = [:]
  /// The groups whose counter increased recently.
  ///
  /// The counters of these groups must be read again.
  private var risen: Set<String> = []
  private var next_ns: UInt64?

  init(groups: MemoryGroups = MemoryGroups()) {
    self.groups = groups
    let number = inotify_init1(Int32(IN_CLOEXEC | IN_NONBLOCK))
    descriptor = number >= 0 ? Descriptor(owning: number) : nil
  }

  mutating func join(_ number: UInt64, _ events: MemoryEvents) {
    let now = Moment.monotonic_ns()
    guard groups.join(number, events, at: now) else { return }
    if events.tellsOfChanges, let descriptor {
      // inotify_add_watch copies the path, so the string is not used after the call returns.
      let watch = unsafe inotify_add_watch(descriptor.number, events.path, UInt32(IN_MODIFY))
      if watch >= 0 { watches[events.path] = watch }
    }
    bringForward(to: now)
  }

  mutating func hangUp(_ number: UInt64) {
    let now = Moment.monotonic_ns()
    groups.hangUp(number, at: now)
    guard let path = groups.path(of: number), groups.mayMove(path, at: now) else { return }
    risen.insert(path)
    bringForward(to: now)
  }

  mutating func end(_ number: UInt64, wasKilled: Bool) -> MemoryShare? {
    let path = groups.path(of: number)
    let share = groups.end(number, wasKilled: wasKilled)
    guard let path, !groups.contains(path) else { return share }
    if let watch = watches.removeValue(forKey: path), let descriptor {
      _ = inotify_rm_watch(descriptor.number, watch)
    }
    risen.remove(path)
    if groups.paths.isEmpty { next_ns = nil }
    return share
  }

  /// Returns the time until `look` is due; nil if `look` is not due before the descriptor becomes readable.
  func timeout_ns(at now_ns: UInt64) -> UInt64? { next_ns.map { $0 <= now_ns ? 0 : $0 - now_ns } }

  /// Reads the counters after the inotify descriptor became readable.
  mutating func changed(isWell: (UInt64) -> Bool) {
    var bytes = [UInt8](repeating: 0, count: 4_096)
    // read writes at most `bytes.count` bytes, which is the size of the array. The code discards the events and reads
    // the counters of all groups, because changes are rare.
    while let number = descriptor?.number, unsafe read(number, &bytes, bytes.count) > 0 {}
    look(at: Array(watches.keys), isWell)
  }

  /// Reads the OOM kill counters of the groups whose next reading is due.
  mutating func look(isWell: (UInt64) -> Bool) {
    guard let next = next_ns, next <= Moment.monotonic_ns() else { return }
    look(at: groups.paths.filter { watches[$0] == nil || risen.contains($0) }, isWell)
  }

  private mutating func look(at paths: [String], _ isWell: (UInt64) -> Bool) {
    let now = Moment.monotonic_ns()
    for path in paths {
      if groups.look(at: path, at: now, isWell: isWell) { risen.insert(path) } else { risen.remove(path) }
    }
    next_ns = due(after: now)
  }

  private mutating func bringForward(to now_ns: UInt64) {
    guard let due = due(after: now_ns) else { return }
    next_ns = min(next_ns ?? due, due)
  }

  private func due(after now_ns: UInt64) -> UInt64? {
    if !risen.isEmpty { return now_ns + MemoryGroups.settling_ns }
    let unwatched = UInt64(groups.paths.count - watches.count)
    return unwatched == 0 ? nil : now_ns + max(Self.period_ns, unwatched * Self.periodPerGroup_ns)
  }
}

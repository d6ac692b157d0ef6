import CrashReport
import CrashRing
import CrashStore
import Logging
import Synchronization

// Stores the counts of `HealthBook`. One transaction stores all waiting counts, so that many crashes at the same time
// need only one transaction.
extension HealthBook {
  /// Stores all waiting counts, and returns when the transaction is complete.
  func write() async {
    await withCheckedContinuation { continuation in
      let begins = state.withLock { state in
        state.waiters.append(continuation)
        defer { state.isWriting = true }
        return !state.isWriting
      }
      if begins { Task.detached { self.writeAll() } }
    }
  }

  private func writeAll() {
    while true {
      let waiters = state.withLock { state in
        defer { state.waiters = [] }
        state.isWriting = !state.waiters.isEmpty
        return state.waiters
      }
      if waiters.isEmpty { return }
      writeOnce()
      for waiter in waiters { waiter.resume() }
    }
  }

  /// The changes that one transaction stores.
  private struct Batch {
    var changes: [HealthKey: HealthChange] = [:]
    var marks: [RingKey: HealthMark] = [:]

    mutating func add(_ life: Life, at now: Moment, _ body: (inout HealthChange) -> Void) {
      // The times are strings of the same length, so the order of the strings is the order of the times.
      let (first, last) = (min(life.first.description, now.description), now.description)
      var change = changes[life.key] ?? HealthChange(life.key, first: first, last: last)
      change.first = min(change.first, first)
      body(&change)
      changes[life.key] = change
    }
  }

  private func writeOnce() {
    let (lives, ends, returns) = state.withLock { state in
      defer {
        (state.ends, state.returns) = ([], [])
        state.isDue = false
      }
      return (state.isDue ? state.lives : [:], state.ends, state.returns)
    }
    guard !lives.isEmpty || !ends.isEmpty || !returns.isEmpty else { return forgetIfDue() }
    let (now_ns, wall) = (clocks.monotonic_ns(), Moment(nanoseconds: clocks.wall_ns()))
    let shared = sharedPrograms()
    var batch = Batch()
    var counted: [RingKey: Life] = [:]
    // Count the ends first, because a process whose connection has ended could have attached again with the same ring.
    for end in ends { count(end, wall, shared, in: &batch) }
    for (ring, life) in lives {
      var life = life
      let isNew = !life.isMarkRead
      // Ordering: use the mark in memory only for an attached process. For an ended process, always read the stored
      // mark, because `end` could have copied the `Life` before an earlier call of this function advanced its mark.
      guard let mark = batch.marks[ring] ?? (isNew ? storedMark(of: life) : life.mark), !mark.hasEnded else { continue }
      life.mark = mark
      let figures = life.ring.healthFigures(withNames: isNew)
      count(&life, figures, upTo: life.hadEnded ? 0 : now_ns, wall, shared, in: &batch)
      batch.marks[ring] = life.mark
      counted[ring] = life
    }
    for back in returns {
      batch.changes[
        back.key, default: HealthChange(back.key, first: wall.description, last: wall.description)
      ].returns[hour(wall), default: [:]][ReturnBucket.of(back.time_ms), default: 0] += 1
    }
    do throws(StoreError) {
      try store.add(health: Array(batch.changes.values), marks: Array(batch.marks.values))
      state.withLock { state in
        // Change only the same `Life`: while this function ran, the process could have ended its connection and opened
        // another one, which has a new `Life`.
        for (ring, life) in counted where state.lives[ring]?.first == life.first {
          state.lives[ring]?.mark = life.mark
          state.lives[ring]?.isMarkRead = true
        }
        state.hasFailed = false
      }
    } catch {
      keep(ends, returns, because: error)
    }
    forgetIfDue()
  }

  /// Puts the counts that the store did not accept back into the queue, so that the next call stores them.
  ///
  /// The stored marks did not change, so nothing is counted twice.
  private func keep(_ ends: [End], _ returns: [ReturnTimes.Return], because error: StoreError) {
    let (isFirst, dropped) = state.withLock { state in
      state.ends = Array((ends + state.ends).suffix(Self.endLimit))
      state.returns = Array((returns + state.returns).suffix(Self.endLimit))
      defer { state.hasFailed = true }
      return (!state.hasFailed, max(0, ends.count - Self.endLimit))
    }
    if isFirst { logger.warning("cannot store release health, trying again: \(error)") }
    if dropped > 0 { logger.error("release health lacks the ends of \(dropped) processes") }
  }

  /// Adds the increase of a process's counters since its mark, and advances the mark.
  private func count(
    _ life: inout Life, _ figures: RingContents.HealthFigures, upTo time_ns: UInt64, _ wall: Moment,
    _ shared: Set<HealthKey>, unattended_ms: UInt64? = nil, lost: UInt64 = 0, crashes: Int = 0, in batch: inout Batch
  ) {
    let mark = life.mark
    // Advance the mark by the counted whole milliseconds only. The next call then counts the remainder.
    let ran_ms = unattended_ms ?? time_ns.subtractingOrZero(mark.counted_ns) / 1_000_000
    if unattended_ms == nil { life.mark.counted_ns = mark.counted_ns &+ ran_ms &* 1_000_000 }
    (life.mark.begun, life.mark.finished) = (max(mark.begun, figures.begun), max(mark.finished, figures.finished))
    life.mark.failed = max(mark.failed, figures.failed)
    life.mark.last_s = Int(clamping: wall.nanoseconds / 1_000_000_000)
    let isShared = shared.contains(life.key)
    let hour = hour(wall)
    batch.add(life, at: wall) { change in
      change.release = figures.release.map(Self.text) ?? change.release
      change.environment = figures.environment.map(Self.text) ?? change.environment
      for (part, time_ms) in Self.hours(endingAt: wall, ran_ms) {
        var counts = HealthCounts()
        (counts.time_ms, counts.shared_ms) = (time_ms, isShared ? time_ms : 0)
        change.hours[part] = (change.hours[part] ?? HealthCounts()) + counts
      }
      var counts = HealthCounts()
      counts.begun = Self.growth(mark.begun, figures.begun)
      counts.finished = Self.growth(mark.finished, figures.finished)
      counts.failed = Self.growth(mark.failed, figures.failed)
      (counts.lost, counts.crashes) = (Self.growth(0, lost), crashes)
      if counts != HealthCounts() { change.hours[hour] = (change.hours[hour] ?? HealthCounts()) + counts }
    }
  }

  private func count(_ end: End, _ wall: Moment, _ shared: Set<HealthKey>, in batch: inout Batch) {
    var life = end.life
    let ring = RingKey(id: life.mark.ring, user: life.key.uid)
    if let mark = batch.marks[ring] ?? storedMark(of: life) { life.mark = mark }
    // If the stored mark has ended, the previous crashd counted this end, but was killed before systemd removed the
    // ring from the descriptor store.
    guard !life.mark.hasEnded else { return }
    let isCrash = end.isCrash == true
    count(
      &life, end.figures, upTo: end.time_ns, wall, shared, unattended_ms: end.unattended_ms,
      lost: isCrash ? end.figures.unended : 0, crashes: isCrash ? 1 : 0, in: &batch)
    life.mark.hasEnded = end.isCrash != nil
    batch.marks[ring] = life.mark
  }

  /// Returns the running builds of each program that has more than one running build.
  private func sharedPrograms() -> Set<HealthKey> {
    let keys = Set(running().keys)
    let programs = Dictionary(grouping: keys) { HealthProgram($0) }
    return Set(programs.values.filter { $0.count > 1 }.joined())
  }

  private struct HealthProgram: Hashable {
    var uid: UInt32
    var program: String

    init(_ key: HealthKey) { (uid, program) = (key.uid, key.program) }
  }

  /// Removes old counts, at most once an hour.
  private func forgetIfDue() {
    let now_ns = clocks.monotonic_ns()
    let isDue = state.withLock { state in
      guard now_ns >= state.nextForget_ns else { return false }
      state.nextForget_ns = now_ns + 3_600_000_000_000
      return true
    }
    guard isDue else { return }
    do throws(StoreError) {
      try store.forgetHealth(hour: hour(Moment(nanoseconds: clocks.wall_ns())))
    } catch {
      logger.debug("cannot remove old release health: \(error)")
    }
  }

  private func hour(_ moment: Moment) -> Int { Int(clamping: moment.nanoseconds / 3_600_000_000_000) }

  /// Divides a period that ends now among the clock hours that it covers.
  static func hours(endingAt wall: Moment, _ ran_ms: UInt64) -> [(hour: Int, time_ms: Int)] {
    let hour_ms: UInt64 = 3_600_000
    let end_ms = wall.nanoseconds / 1_000_000
    var (left, end) = (min(ran_ms, end_ms, UInt64(ReportStore.healthHours) * hour_ms), end_ms)
    var parts: [(hour: Int, time_ms: Int)] = []
    while left > 0 {
      let begin = (end - 1) / hour_ms * hour_ms
      let part = min(left, end - begin)
      parts.append((Int(clamping: begin / hour_ms), Int(clamping: part)))
      (left, end) = (left - part, end - part)
    }
    return parts
  }

  /// Returns the increase of a counter in a ring.
  ///
  /// The result has an upper limit, because a process can write any number into its ring.
  private static func growth(_ before: UInt64, _ now: UInt64) -> Int {
    Int(clamping: min(now.subtractingOrZero(before), 1 << 40))
  }

  private static func text(_ text: String) -> String { String(CleanText.line(text).prefix(128)) }
}

/// Schedules one call of an actor, at the earliest of the requested times.
struct Alarm {
  private var task: Task<Void, Never>?
  private var due_ns = UInt64.max

  /// Calls `ring` after the given time, unless a call at an earlier time is already scheduled.
  ///
  /// The closure `ring` must call `end` first. If the actor needs a further call, `ring` must also call `set` again.
  mutating func set(after wait_ns: UInt64, _ ring: @escaping @Sendable () async -> Void) {
    let (time_ns, isTooLate) = Moment.monotonic_ns().addingReportingOverflow(wait_ns)
    guard !isTooLate, time_ns < due_ns else { return }
    task?.cancel()
    due_ns = time_ns
    task = Task {
      do { try await Task.sleep(for: .nanoseconds(wait_ns)) } catch { return }
      await ring()
    }
  }

  /// Records that no call is scheduled any more.
  mutating func end() { (task, due_ns) = (nil, .max) }
}

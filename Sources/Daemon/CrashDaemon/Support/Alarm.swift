/// One wake-up of an actor: the earliest of the requested ones.
struct Alarm {
  private var task: Task<Void, Never>?
  private var due_ns = UInt64.max

  /// Rings after a time, unless it rings earlier anyway.
  ///
  /// `ring` calls `end`, and sets the alarm again where there is more to wait for.
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

  /// It has rung.
  mutating func end() { (task, due_ns) = (nil, .max) }
}

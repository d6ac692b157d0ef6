/// Limits the number of tests that use a scarce resource of the machine at the same time.
///
/// All tests of a bundle can start at the same time, and would then slow each other down on a slow machine.
actor TestPlaces {
  /// Each daemon needs two inotify instances, and the kernel allows 128 for each user by default.
  static let daemons = TestPlaces(20)

  /// Whether the current task already holds a permit.
  ///
  /// A task that holds a permit must not request another one: it could wait forever for its own permit.
  @TaskLocal private static var hasPlace = false

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  /// Runs `body` as soon as a permit is free.
  nonisolated func occupy<Value>(_ body: () async throws -> Value) async rethrows -> Value {
    if Self.hasPlace { return try await body() }
    await enter()
    do {
      let value = try await Self.$hasPlace.withValue(true, operation: body)
      await leave()
      return value
    } catch {
      await leave()
      throw error
    }
  }

  private func enter() async {
    guard free == 0 else {
      free -= 1
      return
    }
    await withCheckedContinuation { waiting.append($0) }
  }

  /// Passes the permit to the caller that has waited longest.
  private func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}

/// Limits how many tests at a time use a scarce resource of the machine.
///
/// All tests of a bundle start at once, and on a slow machine many of them would wait for each other.
actor TestPlaces {
  /// Each daemon needs two inotify instances, and a user may have 128.
  static let daemons = TestPlaces(20)

  /// Whether the task already holds a permit.
  ///
  /// A second request of the same task would wait forever for the first.
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

/// Lets only so many tests at a time have something that the machine has few of.
///
/// All tests of a bundle begin at once, and on a slow machine those that wait for each other's turn are many.
actor TestPlaces {
  /// Each daemon has two inotify instances, and a user may have 128.
  static let daemons = TestPlaces(20)

  /// Who has a place and asks for another would wait for itself.
  @TaskLocal private static var hasPlace = false

  private var free: Int
  private var waiting: [CheckedContinuation<Void, Never>] = []

  init(_ count: Int) { free = count }

  /// Runs `body` when there is a place.
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

  /// The permit goes to the caller that has waited longest.
  private func leave() {
    if waiting.isEmpty { free += 1 } else { waiting.removeFirst().resume() }
  }
}

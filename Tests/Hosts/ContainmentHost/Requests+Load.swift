internal import CTestKit
internal import CrashShield
internal import Synchronization

// Many requests, one after the other on many connections.
extension Requests {
  private static let connections = 100
  /// The number of requests before the first measurement of the resources.
  private static let warmUp = 2_000

  /// Runs `count` short requests, of which `trapCount` trap in different ways.
  ///
  /// Measures the resources of the process before the first trap and after the last request.
  func runLoad() async {
    let ways = ["index", "overflow", "fatal-error", "precondition"].compactMap { name in
      Way.all.first { $0.name == name }
    }
    await Self.onConnections(Self.warmUp) { _ in await Self.count { try await Task.sleep(for: .microseconds(100)) } }
    ch_note_resources(false)
    let distance = max(count / max(trapCount, 1), 1)
    await Self.onConnections(count) { number in
      let trap = number % distance == 0 && number / distance < trapCount ? number / distance : nil
      await Self.count {
        if let trap { try await ways[trap % ways.count].trap() }
        if number % 8 == 0 { try await Task.sleep(for: .microseconds(100)) }
      }
    }
    ch_note_resources(true)
  }

  /// Traps first, and then runs `count` requests of random durations while the process drains.
  ///
  /// A task with a timer runs beside the requests, like the periodic jobs of a server.
  func runAfterTrap(longest: Duration) async {
    let way = way
    let jobs = Task {
      while !Task.isCancelled { try await Task.sleep(for: longest / 20) }
    }
    async let trapped: Void = Self.count { try await way.trap() }
    while !Shield.isDraining { try? await Task.sleep(for: .milliseconds(1)) }
    await Self.onConnections(count) { _ in
      let duration = longest * Double.random(in: 0...1)
      await Self.count { try await Task.sleep(for: duration) }
    }
    await trapped
    jobs.cancel()
  }

  /// Runs a request, and counts how it ended.
  private static func count(_ work: @escaping @Sendable () async throws -> Void) async {
    do {
      try await Shield.withContainedRequest("GET /load", work)
      ch_add(CH_FINISHED_INDEPENDENT, 1)
    } catch ShieldFault.trapped {
      ch_add(CH_BAD_TRAPPED, 1)
    } catch ShieldFault.ended {
      ch_add(CH_ENDED_INDEPENDENT, 1)
    } catch {
      ch_add(CH_BAD_FAILED, 1)
    }
  }

  /// Calls the body `count` times, from a limited number of tasks.
  private static func onConnections(_ count: Int, _ body: @escaping @Sendable (Int) async -> Void) async {
    await withTaskGroup(of: Void.self) { group in
      for connection in 0..<min(connections, count) {
        group.addTask {
          for number in stride(from: connection, to: count, by: connections) { await body(number) }
        }
      }
    }
  }
}

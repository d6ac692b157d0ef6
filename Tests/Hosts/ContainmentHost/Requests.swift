internal import CTestKit
internal import CrashShield
internal import Glibc

/// The requests of a run: those that trap, and those that are in flight at the same time.
struct Requests: Sendable {
  /// The number of pauses of each other request between the first trap and its own end.
  private static let steps = 8

  var way: Way
  var count: Int
  var trapCount: Int

  /// Runs all requests, and returns when each of them has ended.
  func run() async {
    await withTaskGroup(of: Void.self) { group in
      for number in 0..<count {
        let isDependent = way.depend != nil && number % 2 == 0
        group.addTask { await beside(isDependent) }
      }
      for number in 0..<trapCount { group.addTask { await trap(number) } }
    }
  }

  /// A request that is in flight when another request traps.
  private func beside(_ isDependent: Bool) async {
    let way = way
    do {
      try await Shield.withContainedRequest(isDependent ? "GET /dependent" : "GET /independent") {
        ch_add(CH_BEGUN, 1)
        while ch_get(CH_TRAPPING) == 0 { try await Task.sleep(for: .milliseconds(1)) }
        for _ in 0..<Self.steps {
          if isDependent { await way.depend?() }
          try await Task.sleep(for: .milliseconds(5))
        }
      }
      ch_add(isDependent ? CH_FINISHED_DEPENDENT : CH_FINISHED_INDEPENDENT, 1)
    } catch ShieldFault.ended {
      ch_add(isDependent ? CH_ENDED_DEPENDENT : CH_ENDED_INDEPENDENT, 1)
    } catch {
      ch_add(isDependent ? CH_TRAPPED_DEPENDENT : CH_TRAPPED_INDEPENDENT, 1)
    }
  }

  /// A request that traps while all other requests are in flight.
  private func trap(_ number: Int) async {
    let (way, count) = (way, count)
    do {
      try await Shield.withContainedRequest("GET /bad", id: "\(number)") {
        while ch_get(CH_BEGUN) < count { try await Task.sleep(for: .milliseconds(1)) }
        // Each trap except the first occurs some milliseconds after the one before.
        try await Task.sleep(for: .milliseconds(3 * number))
        try await way.trap()
      }
      ch_add(CH_BAD_RETURNED, 1)
    } catch ShieldFault.trapped {
      ch_add(CH_BAD_TRAPPED, 1)
    } catch ShieldFault.ended {
      ch_add(CH_BAD_ENDED, 1)
    } catch {
      ch_add(CH_BAD_FAILED, 1)
    }
  }

  /// Counts the tasks that can run at the same time, up to the number of processors.
  static func measureCapacity() async {
    let width = UInt64(sysconf(Int32(_SC_NPROCESSORS_ONLN)))
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<width {
        group.addTask {
          ch_add(CH_CAPACITY, 1)
          // If the pool lacks a thread, the last task starts only when another task stops waiting.
          let end = ContinuousClock.now + .seconds(5)
          while ch_get(CH_CAPACITY) < width && ContinuousClock.now < end { sched_yield() }
          if ch_get(CH_CAPACITY) < width { ch_add(CH_SERIAL, 1) }
        }
      }
    }
  }
}

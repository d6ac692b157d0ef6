// This file disables the lint rules below, because it compares the guards with the plain operations that these rules
// forbid.
// swift-format-ignore-file: NeverForceUnwrap, NeverUseForceTry
import CrashShieldGuards
import CrashShieldFoundation
import Dispatch
import Foundation

private actor Counter {
  var count = 0

  func plain(_ turns: Int) -> Int {
    for _ in 0..<turns { assumeIsolated { $0.count &+= 1 } }
    return turns
  }

  func guarded(_ turns: Int) -> Int {
    for _ in 0..<turns { shieldedAssumeIsolated { $0.count &+= 1 } }
    return turns
  }
}

private final class Cache: Sendable {}

extension Operation {
  /// The guards G12 and G21 to G24 of docs/guards.md.
  static let services: [Operation] = [
    Operation("G12 post, observed") { input in
      let center = NotificationCenter()
      let cache = Cache()
      let name = Notification.Name("changed")
      let token = center.addObserver(forName: name, object: nil, queue: nil) { [weak cache] _ in _ = opaque(cache) }
      for _ in 0..<input.turns / 10 { center.post(name: name, object: nil) }
      center.removeObserver(token)
      return input.turns
    } guarded: { input in
      let center = NotificationCenter()
      let cache = Cache()
      let name = Notification.Name("changed")
      let observation = center.shieldedAddObserver(cache, forName: name) { cache, _ in _ = opaque(cache) }
      for _ in 0..<input.turns / 10 { center.post(name: name, object: nil) }
      observation.cancel()
      return input.turns
    },
    Operation("G21 continuation") { input in
      awaited { [turns = input.turns] in
        var sum = 0
        for _ in 0..<turns { sum &+= try await withCheckedThrowingContinuation { $0.resume(returning: 1) } }
        return sum
      }
    } guarded: { input in
      awaited { [turns = input.turns] in
        var sum = 0
        for _ in 0..<turns { sum &+= try await withShieldedContinuation { $0.resume(returning: 1) } }
        return sum
      }
    },
    Operation("G22 queue.sync") { input in
      let queue = DispatchQueue(label: "plain")
      var sum = 0
      for place in input.places { sum &+= queue.sync { place } }
      return sum
    } guarded: { input in
      let queue = ShieldedQueue(label: "guarded")
      var sum = 0
      for place in input.places { sum &+= queue.sync { place } }
      return sum
    },
    Operation("G23 group.enter(), leave()") { input in
      let group = DispatchGroup()
      for _ in 0..<input.turns {
        group.enter()
        group.leave()
      }
      return input.turns
    } guarded: { input in
      let group = ShieldedGroup()
      for _ in 0..<input.turns {
        group.enter()
        group.leave()
      }
      return input.turns
    },
    Operation("G23 semaphore.signal(), wait()") { input in
      let semaphore = DispatchSemaphore(value: 0)
      for _ in 0..<input.turns {
        semaphore.signal()
        semaphore.wait()
      }
      return input.turns
    } guarded: { input in
      let semaphore = ShieldedSemaphore(value: 0)
      for _ in 0..<input.turns {
        semaphore.signal()
        semaphore.wait()
      }
      return input.turns
    },
    Operation("G24 MainActor.assumeIsolated") { input in
      for _ in 0..<input.turns { MainActor.assumeIsolated { tally &+= 1 } }
      return input.turns
    } guarded: { input in
      for _ in 0..<input.turns { MainActor.shieldedRun { tally &+= 1 } }
      return input.turns
    },
    Operation("G24 actor.assumeIsolated") { input in
      awaited { [turns = input.turns] in await Counter().plain(turns) }
    } guarded: { input in
      awaited { [turns = input.turns] in await Counter().guarded(turns) }
    },
  ]
}

@MainActor private var tally = 0

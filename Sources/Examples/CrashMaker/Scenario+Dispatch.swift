// Crashes in libdispatch because of wrong calls. On Linux, libdispatch does not store an error message.
internal import Dispatch

extension Scenario {
  static let dispatch = [
    Scenario(
      "dispatch-sync-self", "SIGILL", "faultDispatchSyncSelf", summary: "wait on a queue for itself",
      faultDispatchSyncSelf),
    Scenario(
      "dispatch-over-resume", "SIGILL", "faultDispatchOverResume", summary: "resume a queue that is not suspended",
      faultDispatchOverResume),
    Scenario(
      "dispatch-unbalanced-leave", "SIGILL", "faultDispatchUnbalancedLeave",
      summary: "leave a group more often than enter it", faultDispatchUnbalancedLeave),
  ]
}

@inline(never) private func faultDispatchSyncSelf() {
  let queue = DispatchQueue(label: "warehouse")
  let order = queue.sync {
    queue.sync { opaque(1) }  // fault: dispatch-sync-self
  }
  _ = opaque(order)
}

@inline(never) private func faultDispatchOverResume() {
  let queue = DispatchQueue(label: "warehouse")
  queue.resume()  // fault: dispatch-over-resume
  queue.async {}
}

@inline(never) private func faultDispatchUnbalancedLeave() {
  let group = DispatchGroup()
  group.enter()
  group.leave()
  group.leave()  // fault: dispatch-unbalanced-leave
  _ = group.wait(timeout: .now())
}

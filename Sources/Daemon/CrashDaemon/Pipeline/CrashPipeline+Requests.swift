import CrashRing
import CrashStore
import Synchronization

// Counts the requests of attached processes by build, for crashd's metrics.
extension CrashPipeline {
  /// Begins to count the requests of a process.
  ///
  /// Processes with more privileges than their user are not counted, because this user must not read their numbers.
  func countRequests(of process: AttachedProcess) {
    guard !process.facts.isRestricted else { return }
    let (key, account) = (RequestTotals.Key(process.facts), limits.account(of: process.facts.peer.uid))
    let (before, contained) = (process.ring.requestCounts(), process.ring.containment()?.contained ?? 0)
    state.withLock { state in
      state.entries[process.number]?.requests = state.requests.attach(
        key, of: account, before: before, containedBefore: contained)
    }
  }

  /// Returns the numbers of requests by build, for the processes that a client is allowed to read.
  ///
  /// Requests that began before crashd attached their process are not counted.
  func requests(for visibility: Visibility) -> [(key: RequestTotals.Key, counts: RequestTotals.Counts)] {
    let isVisible = { (key: RequestTotals.Key) in visibility == .all || visibility == .user(key.uid) }
    // Ordering: copy the counts of ended processes and the list of attached processes in one critical section, so that
    // no process is counted twice or not at all.
    let (totals, members) = state.withLock { state in
      (state.requests, state.entries.values.compactMap { entry in entry.requests.map { (entry.process.ring, $0) } })
    }
    // Read only the rings of visible processes, because each read is expensive: unmapping the pages after it interrupts
    // all processors.
    let attached = members.filter { isVisible($0.1.key) }.map { ring, member in
      (member.key, RequestTotals.Counts(ring.requestCounts(), ring.containment(), since: member, hasEnded: false))
    }
    return totals.sums(with: attached).filter { isVisible($0.key) }
  }
}

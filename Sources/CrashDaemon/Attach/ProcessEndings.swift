/// A process whose connection is gone, and how it went away.
struct EndedProcess: Sendable {
  var process: AttachedProcess
  var end: ProcessEnd
  /// How often memory ran out in its control group since it attached; nil where nobody counts.
  var oomKills: Int?
}

/// Processes whose connection is gone, until the kernel tells how they ended.
struct ProcessEndings {
  private struct Ending {
    var process: AttachedProcess
    var pidfd: Descriptor
    /// Counted at the hang-up: the control group may go with its last process.
    var oomKills: Int?

    func ended(_ end: ProcessEnd) -> EndedProcess { EndedProcess(process: process, end: end, oomKills: oomKills) }
  }

  private let poller: Poller
  private let limits: Limits
  private var endings: [UInt64: Ending] = [:]
  private var counts: [UInt32: Int] = [:]

  init(poller: Poller, limits: Limits) {
    self.poller = poller
    self.limits = limits
  }

  /// A connection is gone.
  /// - Parameters:
  ///   - process: Whose.
  ///   - pidfd: It, watched under `token`; nil where the kernel gave none.
  ///   - token: What the poller reports.
  /// - Returns: How it ended; nil when `look(at:)` will tell.
  mutating func begin(_ process: AttachedProcess, pidfd: Descriptor?, token: UInt64) -> EndedProcess? {
    let oomKills = process.facts.memory.flatMap { $0.increase() }
    guard let pidfd else { return EndedProcess(process: process, end: .unknown, oomKills: oomKills) }
    let ending = Ending(process: process, pidfd: pidfd, oomKills: oomKills)
    let peer = process.facts.peer
    if let end = ProcessEnd.of(pidfd: pidfd, peer: peer) {
      poller.remove(pidfd)
      return ending.ended(end)
    }
    // The kernel closes the descriptors of a process before it is seen to end; one that is not about to end lives on.
    if let stat = ProcessStat.read(pid: peer.pid), !stat.isExiting {
      // Or it has ended since the first look.
      let end = ProcessEnd.of(pidfd: pidfd, peer: peer)
      if end != nil || !pidfd.isReadable {
        poller.remove(pidfd)
        return ending.ended(end ?? .goesOn)
      }
    }
    // A user whose parents do not wait for their children uses up his own places only.
    let count = counts[peer.uid, default: 0]
    guard endings.count < limits.processes, count < limits.processesPerUser || peer.uid == 0 else {
      poller.remove(pidfd)
      return ending.ended(.unknown)
    }
    endings[token] = ending
    counts[peer.uid] = count + 1
    awaitParent(pidfd, token)
    return nil
  }

  /// The poller has reported a token: the process and its end, once that is known.
  mutating func look(at token: UInt64) -> EndedProcess? {
    guard let ending = endings[token] else { return nil }
    guard let end = ProcessEnd.of(pidfd: ending.pidfd, peer: ending.process.facts.peer) else {
      awaitParent(ending.pidfd, token)
      return nil
    }
    poller.remove(ending.pidfd)
    endings[token] = nil
    let uid = ending.process.facts.peer.uid
    let left = counts[uid, default: 1] - 1
    counts[uid] = left > 0 ? left : nil
    return ending.ended(end)
  }

  /// Of all of them, those that are known now.
  mutating func lookAtAll() -> [EndedProcess] {
    endings.keys.sorted().compactMap { look(at: $0) }
  }

  /// All that are left: their parents have not waited for them.
  mutating func giveUp() -> [EndedProcess] {
    defer { (endings, counts) = ([:], [:]) }
    return endings.values.map { $0.ended(.unknown) }
  }

  /// A pidfd is readable as long as a parent does not wait for its child: the poller would report it again and again.
  private func awaitParent(_ pidfd: Descriptor, _ token: UInt64) {
    if pidfd.isReadable { poller.awaitHangUp(pidfd, token: token) }
  }
}

import LinuxSystem

/// A process whose connection is closed, and how the process ended.
struct EndedProcess: Sendable {
  var process: AttachedProcess
  var end: ProcessEnd
  /// The evidence from the OOM kill counter of the process's control group; nil if there is no evidence.
  var memory: MemoryShare?
}

/// Holds processes with a closed connection until the kernel reports how they ended.
struct ProcessEndings {
  private struct Ending {
    var process: AttachedProcess
    var pidfd: Descriptor
    /// The account (the uids that share one set of limits) whose limits apply to the process.
    var account: UInt32 = 0
    /// How the process ended; nil if this was not known when the connection closed.
    var end: ProcessEnd?

    func ended(_ end: ProcessEnd) -> EndedProcess { EndedProcess(process: process, end: end) }
  }

  private let poller: Poller
  private let limits: Limits
  private var endings: [UInt64: Ending] = [:]
  private var counts: [UInt32: Int] = [:]

  init(poller: Poller, limits: Limits) {
    self.poller = poller
    self.limits = limits
  }

  /// Handles the closed connection of a process.
  /// - Parameters:
  ///   - process: The process of the connection.
  ///   - pidfd: The pidfd of the process, which is watched under `token`; nil if the kernel does not provide pidfds.
  ///   - token: The token with which the poller reports the pidfd.
  /// - Returns: How the process ended, if this is already known and a later hello cannot change it. Otherwise nil;
  ///   `look(at:)` then returns the result later.
  mutating func begin(_ process: AttachedProcess, pidfd: Descriptor?, token: UInt64) -> EndedProcess? {
    guard let pidfd else { return EndedProcess(process: process, end: .unknown) }
    let peer = process.facts.peer
    var ending = Ending(process: process, pidfd: pidfd, end: ProcessEnd.of(pidfd: pidfd, pid: peer.pid))
    // The kernel closes the descriptors of an exiting process before the process becomes a zombie. A killed process can
    // close the connection even earlier, because the shield's thread has its own descriptor table and can end before
    // the first thread. Therefore, if the connection is closed and the process is neither exiting nor being killed, the
    // process itself has closed the connection.
    if ending.end == nil, let stat = ProcessStat.read(pid: peer.pid, of: pidfd), !stat.isBeingKilled {
      // Check the end again, because the process could have ended after the first check.
      ending.end = ProcessEnd.of(pidfd: pidfd, pid: peer.pid)
      if ending.end == nil && !pidfd.isReadable {
        poller.remove(pidfd)
        return ending.ended(.goesOn)
      }
    }
    // Each user has a separate limit, because the parent processes of a user possibly never reap their children.
    let account = limits.account(of: peer.uid)
    let count = counts[account, default: 0]
    guard
      ending.end != nil
        || (endings.count < limits.places(limits.endings, for: peer.uid)
          && (count < limits.endingsPerUser || peer.uid == 0))
    else {
      poller.remove(pidfd)
      return ending.ended(.unknown)
    }
    ending.account = account
    endings[token] = ending
    counts[account] = count + 1
    if ending.end == nil { awaitParent(pidfd, token) }
    return nil
  }

  /// Handles a second hello (first message of a connection) of a process, which has replaced its program.
  ///
  /// Earlier endings of this process belong to its former program.
  mutating func supersede(_ facts: ProcessFacts) -> [EndedProcess] {
    let tokens = endings.filter { $0.value.process.facts.isSameProcess(as: facts) }.keys
    return tokens.sorted().compactMap { finish($0, .goesOn) }
  }

  /// Handles a token of the poller.
  ///
  /// Returns the process and how it ended; nil if this is not known yet.
  mutating func look(at token: UInt64) -> EndedProcess? {
    guard let ending = endings[token] else { return nil }
    guard let end = ending.end ?? ProcessEnd.of(pidfd: ending.pidfd, pid: ending.process.facts.peer.pid) else {
      awaitParent(ending.pidfd, token)
      return nil
    }
    return finish(token, end)
  }

  private mutating func finish(_ token: UInt64, _ end: ProcessEnd) -> EndedProcess? {
    guard let ending = endings.removeValue(forKey: token) else { return nil }
    poller.remove(ending.pidfd)
    let left = counts[ending.account, default: 1] - 1
    counts[ending.account] = left > 0 ? left : nil
    return ending.ended(end)
  }

  /// Removes and returns the processes for which the kernel now reports how they ended.
  ///
  /// If `pid` is not nil, only processes with this pid are checked.
  mutating func lookAll(pid: Int32? = nil) -> [EndedProcess] {
    let tokens = endings.filter { pid == nil || $0.value.process.facts.peer.pid == pid }.keys
    return tokens.sorted().compactMap { look(at: $0) }
  }

  /// Removes and returns all processes whose end is still unknown.
  ///
  /// The parents of these processes have not reaped them, so the kernel does not report their exit status.
  mutating func giveUp() -> [EndedProcess] {
    defer { (endings, counts) = ([:], [:]) }
    return endings.values.map { $0.ended(.unknown) }
  }

  /// Watches only the hang-up of the pidfd if the pidfd is already readable.
  ///
  /// The pidfd is readable from the end of the process until the parent reaps the process. Without this function, the
  /// poller would report the readable pidfd repeatedly.
  private func awaitParent(_ pidfd: Descriptor, _ token: UInt64) {
    if pidfd.isReadable { poller.awaitHangUp(pidfd, token: token) }
  }
}

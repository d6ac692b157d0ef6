import LinuxSystem

/// A process whose connection is closed, and how it ended.
struct EndedProcess: Sendable {
  var process: AttachedProcess
  var end: ProcessEnd
  /// The evidence of its control group's counter; nil where there is none.
  var memory: MemoryShare?
}

/// Processes whose connection is closed, until the kernel reports how they ended.
struct ProcessEndings {
  private struct Ending {
    var process: AttachedProcess
    var pidfd: Descriptor
    /// The account of its user for limits.
    var account: UInt32 = 0
    /// Known when the connection closed.
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

  /// Handles a closed connection.
  /// - Parameters:
  ///   - process: The process of the connection.
  ///   - pidfd: Its pidfd, watched under `token`; nil where the kernel gave none.
  ///   - token: The token that the poller reports.
  /// - Returns: How it ended, where no hello changes that; nil when `look(at:)` returns it later.
  mutating func begin(_ process: AttachedProcess, pidfd: Descriptor?, token: UInt64) -> EndedProcess? {
    guard let pidfd else { return EndedProcess(process: process, end: .unknown) }
    let peer = process.facts.peer
    var ending = Ending(process: process, pidfd: pidfd, end: ProcessEnd.of(pidfd: pidfd, pid: peer.pid))
    // The kernel closes the descriptors of a process before its end is visible; one that is not exiting runs on.
    if ending.end == nil, let stat = ProcessStat.read(pid: peer.pid, of: pidfd), !stat.isExiting {
      // Or it has ended since the first check.
      ending.end = ProcessEnd.of(pidfd: pidfd, pid: peer.pid)
      if ending.end == nil && !pidfd.isReadable {
        poller.remove(pidfd)
        return ending.ended(.goesOn)
      }
    }
    // A user whose parents do not reap their children uses up only its own limit.
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

  /// Handles a second hello of a process: earlier endings under its pidfd belong to the replaced program.
  mutating func supersede(_ facts: ProcessFacts) -> [EndedProcess] {
    let tokens = endings.filter { $0.value.process.facts.isSameProcess(as: facts) }.keys
    return tokens.sorted().compactMap { finish($0, .goesOn) }
  }

  /// Handles a token of the poller: the process and its end, once that is known.
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

  /// The ends that are known now, of all processes or of those with a pid.
  mutating func lookAll(pid: Int32? = nil) -> [EndedProcess] {
    let tokens = endings.filter { pid == nil || $0.value.process.facts.peer.pid == pid }.keys
    return tokens.sorted().compactMap { look(at: $0) }
  }

  /// Gives up on all remaining ones, whose parents have not reaped them.
  mutating func giveUp() -> [EndedProcess] {
    defer { (endings, counts) = ([:], [:]) }
    return endings.values.map { $0.ended(.unknown) }
  }

  /// A pidfd stays readable until the parent reaps its child, and the poller would report it again and again.
  private func awaitParent(_ pidfd: Descriptor, _ token: UInt64) {
    if pidfd.isReadable { poller.awaitHangUp(pidfd, token: token) }
  }
}

import LinuxSystem

/// A process whose connection is gone, and how it went away.
struct EndedProcess: Sendable {
  var process: AttachedProcess
  var end: ProcessEnd
  /// What the counter of its control group says; nil where there is none.
  var memory: MemoryShare?
}

/// Processes whose connection is gone, until the kernel tells how they ended.
struct ProcessEndings {
  private struct Ending {
    var process: AttachedProcess
    var pidfd: Descriptor
    /// Under which its user's places are counted.
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

  /// A connection is gone.
  /// - Parameters:
  ///   - process: Whose.
  ///   - pidfd: It, watched under `token`; nil where the kernel gave none.
  ///   - token: What the poller reports.
  /// - Returns: How it ended, where no hello changes that; nil when `look(at:)` will tell.
  mutating func begin(_ process: AttachedProcess, pidfd: Descriptor?, token: UInt64) -> EndedProcess? {
    guard let pidfd else { return EndedProcess(process: process, end: .unknown) }
    let peer = process.facts.peer
    var ending = Ending(process: process, pidfd: pidfd, end: ProcessEnd.of(pidfd: pidfd, pid: peer.pid))
    // The kernel closes the descriptors of a process before it is seen to end; one that is not about to end lives on.
    if ending.end == nil, let stat = ProcessStat.read(pid: peer.pid, of: pidfd), !stat.isExiting {
      // Or it has ended since the first look.
      ending.end = ProcessEnd.of(pidfd: pidfd, pid: peer.pid)
      if ending.end == nil && !pidfd.isReadable {
        poller.remove(pidfd)
        return ending.ended(.goesOn)
      }
    }
    // A user whose parents do not wait for their children uses up that user's places only.
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

  /// A process says hello: those that have ended under its pidfd are what it was before, and their end is not theirs.
  mutating func supersede(_ facts: ProcessFacts) -> [EndedProcess] {
    let tokens = endings.filter { $0.value.process.facts.isSameProcess(as: facts) }.keys
    return tokens.sorted().compactMap { finish($0, .goesOn) }
  }

  /// The poller has reported a token: the process and its end, once that is known.
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

  /// Of all of them, or of those with a pid, those that are known now.
  mutating func lookAll(pid: Int32? = nil) -> [EndedProcess] {
    let tokens = endings.filter { pid == nil || $0.value.process.facts.peer.pid == pid }.keys
    return tokens.sorted().compactMap { look(at: $0) }
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

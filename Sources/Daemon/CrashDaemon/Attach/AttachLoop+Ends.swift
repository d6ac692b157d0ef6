import CrashRing
import Glibc
import LinuxSystem
import Synchronization

// Handles the ends of connections and of their processes.
extension AttachLoop {
  mutating func processEnded(_ number: UInt64) {
    if connections[number] == nil, let ended = endings.look(at: number | 1) { tell(ended) }
    // The socket may still hold the last messages of the process.
    receive(number)
    close(number)
  }

  mutating func close(_ number: UInt64) {
    forgetConnection(number)
    guard let connection = connections.removeValue(forKey: number) else { return }
    if let socket = connection.socket {
      poller.remove(socket.descriptor)
      socket.hangUp()
    }
    guard let process = connection.process else { return }
    process.control.end()
    memory.hangUp(number)
    // Announce the process even if `isAnnounced` is set, because the pipeline may already ignore its wake-ups.
    process.hasEnded.store(true, ordering: .releasing)
    configuration.events.yield(.announced(process))
    if connection.isSuperseded {
      if let pidfd = connection.pidfd { poller.remove(pidfd) }
      return tell(EndedProcess(process: process, end: .goesOn))
    }
    if let ended = endings.begin(process, pidfd: connection.pidfd, token: number | 1) { return tell(ended) }
    // The process may have replaced its program (`execve`) before it ended. The end then belongs to the new program,
    // whose hello may still be queued.
    takeWaiting()
    if let ended = endings.look(at: number | 1) { tell(ended) }
  }

  /// Reports how a process ended, with the counter of its control group.
  mutating func tell(_ ended: EndedProcess) {
    var ended = ended
    ended.memory = memory.end(ended.process.number, wasKilled: ended.end.signal == SIGKILL)
    configuration.events.yield(.ended(ended))
  }

  /// Handles a second hello of a process.
  ///
  /// Its earlier connections belong to the program that it ran before.
  ///
  /// A child that was not created by `fork` may hold the earlier connections open after the process has replaced its
  /// program. Without this step, crashd would report the end of the process for the earlier program as well.
  /// - Returns: The name under which the ring is already stored, and the stored names that belong to the earlier
  ///   program.
  mutating func supersede(_ facts: ProcessFacts) -> (kept: String?, stale: [String]) {
    var names: (kept: String?, stale: [String]) = (nil, [])
    for (number, connection) in connections where connection.process?.facts.isSameProcess(as: facts) == true {
      connections[number]?.isSuperseded = true
      connection.process?.control.end()
      if let name = connection.process?.keptName {
        let isSameRing = connection.process?.facts.identity.ringID == facts.identity.ringID
        if isSameRing && names.kept == nil { names.kept = name } else { names.stale.append(name) }
      }
      // From now on, the new connection owns the stored descriptors.
      connection.process?.keptName = nil
      if connection.process?.facts.image != facts.image || connection.socket == nil { close(number) }
    }
    for ended in endings.supersede(facts) { tell(ended) }
    return names
  }

  /// Whether a process now runs another program than the one that attached, although its connection is still open.
  func hasBecomeAnother(_ number: UInt64) -> Bool {
    guard let connection = connections[number], let before = connection.process?.facts.image,
      let pidfd = connection.pidfd, let now = ProcessImage.of(pid: connection.peer.pid, pidfd)
    else { return false }
    return now != before
  }

  /// Whether a process neither has ended nor is being killed.
  func isWell(_ number: UInt64) -> Bool {
    guard let connection = connections[number], let pidfd = connection.pidfd, !pidfd.isReadable else { return false }
    // If /proc does not show the state, an existing process counts as running.
    return ProcessStat.read(pid: connection.peer.pid, of: pidfd)?.isBeingKilled != true
  }
}

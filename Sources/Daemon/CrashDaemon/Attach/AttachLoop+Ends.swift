import CrashRing
import Glibc
import LinuxSystem
import Synchronization

// Connections that end, and the ends of their processes.
extension AttachLoop {
  mutating func processEnded(_ number: UInt64) {
    if connections[number] == nil, let ended = endings.look(at: number | 1) { tell(ended) }
    // Its last messages are still in the socket.
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
    // Always announced, whatever the flag says: the pipeline may ignore its wake-ups by now.
    process.hasEnded.store(true, ordering: .releasing)
    configuration.events.yield(.announced(process))
    if connection.isSuperseded {
      if let pidfd = connection.pidfd { poller.remove(pidfd) }
      return tell(EndedProcess(process: process, end: .goesOn))
    }
    if let ended = endings.begin(process, pidfd: connection.pidfd, token: number | 1) { return tell(ended) }
    // If it replaced its program before it ended, the end belongs to that program, whose hello may still be queued.
    takeWaiting()
    if let ended = endings.look(at: number | 1) { tell(ended) }
  }

  /// Reports how a process ended, with the counter of its control group.
  mutating func tell(_ ended: EndedProcess) {
    var ended = ended
    ended.memory = memory.end(ended.process.number, wasKilled: ended.end.signal == SIGKILL)
    configuration.events.yield(.ended(ended))
  }

  /// Handles a second hello of a process: its earlier connections belong to the program that it was before.
  ///
  /// A child that was not created by `fork` may hold them open after the process has replaced its program. They would
  /// then close with the process, whose end is not theirs, so they are dropped now.
  /// - Returns: The name that its ring is already stored under, and the names of the earlier program.
  mutating func supersede(_ facts: ProcessFacts) -> (kept: String?, stale: [String]) {
    var names: (kept: String?, stale: [String]) = (nil, [])
    for (number, connection) in connections where connection.process?.facts.isSameProcess(as: facts) == true {
      connections[number]?.isSuperseded = true
      connection.process?.control.end()
      if let name = connection.process?.keptName {
        let isSameRing = connection.process?.facts.identity.ringID == facts.identity.ringID
        if isSameRing && names.kept == nil { names.kept = name } else { names.stale.append(name) }
      }
      // The new connection owns the stored descriptors from now on.
      connection.process?.keptName = nil
      if connection.process?.facts.image != facts.image || connection.socket == nil { close(number) }
    }
    for ended in endings.supersede(facts) { tell(ended) }
    return names
  }

  /// Whether a process runs another program than the one that attached, although its connection is open.
  func hasBecomeAnother(_ number: UInt64) -> Bool {
    guard let connection = connections[number], let before = connection.process?.facts.image,
      let pidfd = connection.pidfd, let now = ProcessImage.of(pid: connection.peer.pid, pidfd)
    else { return false }
    return now != before
  }

  /// Whether a process neither has ended nor is being killed.
  func isWell(_ number: UInt64) -> Bool {
    guard let connection = connections[number], let pidfd = connection.pidfd, !pidfd.isReadable else { return false }
    // Without a state from /proc, a process that exists counts as running.
    return ProcessStat.read(pid: connection.peer.pid, of: pidfd)?.isBeingKilled != true
  }
}

import CrashRing
import Glibc
import LinuxSystem
import Synchronization

// Handles closed connections and the ends of their processes.
extension AttachLoop {
  mutating func processEnded(_ number: UInt64) {
    if connections[number] == nil, let ended = endings.look(at: number | 1) { tell(ended) }
    // Read the socket once more, because it can still contain the last messages of the process.
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
    process.endTime_ns.store(Moment.monotonic_ns(), ordering: .relaxed)
    // Announce the process to the pipeline even if `isAnnounced` is already set. The pipeline could have ignored an
    // earlier announcement because the process had made too many announcements without a new record.
    process.hasEnded.store(true, ordering: .releasing)
    configuration.events.yield(.announced(process))
    if connection.isSuperseded {
      if let pidfd = connection.pidfd { poller.remove(pidfd) }
      return tell(EndedProcess(process: process, end: .goesOn))
    }
    if let ended = endings.begin(process, pidfd: connection.pidfd, token: number | 1) { return tell(ended) }
    // Accept queued connections first. The process could have replaced its program (`execve`) before it ended, and the
    // hello of the new program could still be queued.
    takeWaiting()
    if let ended = endings.look(at: number | 1) { tell(ended) }
  }

  /// Sends the end of a process to the pipeline, with the OOM kill counter of its control group.
  mutating func tell(_ ended: EndedProcess) {
    var ended = ended
    ended.memory = memory.end(ended.process.number, wasKilled: ended.end.signal == SIGKILL)
    configuration.events.yield(.ended(ended))
  }

  /// Handles a second hello (first message of a connection) of a process, which shows that the process has replaced its
  /// program (`execve`).
  ///
  /// The earlier connections of the process belong to its former program. A child process that was not created by
  /// `fork` can hold these connections open. Without this function, crashd would report the end of the process once
  /// more for the former program.
  /// - Returns: The name under which systemd already stores the ring, and the stored names that belong to the former
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
      // Clear the name in the former connection, because the new connection now owns the stored descriptors.
      connection.process?.keptName = nil
      if connection.process?.facts.image != facts.image || connection.socket == nil { close(number) }
    }
    for ended in endings.supersede(facts) { tell(ended) }
    return names
  }

  /// Whether a process now runs a different program than when it attached, although its connection is still open.
  func hasBecomeAnother(_ number: UInt64) -> Bool {
    guard let connection = connections[number], let before = connection.process?.facts.image,
      let pidfd = connection.pidfd, let now = ProcessImage.of(pid: connection.peer.pid, pidfd)
    else { return false }
    return now != before
  }

  /// Whether a process has not ended and is not being killed.
  func isWell(_ number: UInt64) -> Bool {
    guard let connection = connections[number], let pidfd = connection.pidfd, !pidfd.isReadable else { return false }
    // If /proc does not show the state of an existing process, this function assumes that the process runs.
    return ProcessStat.read(pid: connection.peer.pid, of: pidfd)?.isBeingKilled != true
  }
}

import CrashRing
import Glibc
import LinuxSystem

// Hands attached processes over from one crashd to the next crashd. Between the stop of one crashd and the start of the
// next, systemd stores the descriptors of the rings (the memory with crash records), the processes and the connections.
extension AttachLoop {
  /// Resumes the attached processes that an earlier crashd stored in systemd.
  ///
  /// The pidfd of a process shows whether the process ended while no crashd ran. The ring contains all other facts
  /// about the process.
  mutating func takeKept() {
    for kept in configuration.kept {
      configuration.heartbeat.beat()
      let number = nextToken
      nextToken += 2
      let (facts, images) = ProcessFacts.introduced(by: kept.ring, peer: kept.peer, pidfd: kept.pidfd)
      let process = AttachedProcess(
        number: number, facts: facts, ring: kept.ring, census: configuration.census, hadEnded: kept.pidfd.isReadable)
      process.keptName = kept.name
      connections[number] = Connection(
        socket: nil, peer: kept.peer, account: configuration.limits.account(of: kept.peer.uid), deadline_ns: 0,
        process: process, pidfd: kept.pidfd)
      do throws(SystemError) { try poller.add(kept.pidfd, token: number | 1) } catch {
        configuration.ledger.refuse("kept descriptor", from: kept.peer, because: "\(error)")
        connections[number] = nil
        continue
      }
      readFirst(process, kept.pidfd)
      if let events = process.facts.memory { memory.join(number, events) }
      configuration.events.yield(.attached(process, ImageFile.list(images)))
      announce(process)
    }
    // Read the stored connections after the stored processes, because a hello can be the second hello of a stored
    // process.
    var trials = configuration.trials
    for kept in configuration.keptConnections {
      configuration.heartbeat.beat()
      switch trials?.begin(kept.name) ?? .look {
      case .look:
        accepted(kept.socket, keptName: kept.name)
        // `accepted` reads the hello. If reading the hello crashes crashd, `end` is not called, and the file of
        // `trials` keeps the count of attempts. In this case, systemd passes the connection to the next crashd.
        trials?.end(kept.name)
      case .skip: _ = leave(kept)
      case .giveUp:
        let peer = leave(kept)
        configuration.store?.forget(kept.name)
        configuration.ledger.lose(["hello": 1], of: peer, process: kept.name)
      }
    }
  }

  /// Leaves a hello (the first message of a process) unread for a later crashd, and shuts down the connection.
  ///
  /// If the process crashes later, it detects that its connection has no reader, and writes its crash records to a file
  /// in the spool directory.
  /// - Returns: The peer.
  private func leave(_ kept: KeptConnection) -> Peer {
    let peer = (try? UnixSocket.peer(of: kept.socket.descriptor.number)) ?? Peer(pid: 0, uid: geteuid())
    let reason = "\(kept.name): crashd has ended \(HelloTrials.limit) times while it read this hello"
    refuse(kept.socket, peer, .limit(reason), as: "kept hello")
    kept.socket.hangUp()
    return peer
  }

  /// Stores a process's descriptors in systemd for the next crashd.
  ///
  /// systemd does not store a second copy of a descriptor. Therefore, a ring that is already stored keeps its name.
  func keep(_ process: AttachedProcess, _ pidfd: Descriptor?, under name: String?) {
    guard let store = configuration.store else { return }
    process.keptName = name
    guard name == nil, let pidfd else { return }
    let name = store.name(of: process)
    process.keptName = name
    store.keep(process, pidfd: pidfd, as: name)
  }

  /// Removes a stored connection from systemd after crashd has read the hello of the connection, or has closed the
  /// connection without it.
  mutating func forgetConnection(_ number: UInt64) {
    guard let name = connections[number]?.keptName else { return }
    connections[number]?.keptName = nil
    configuration.store?.forget(name)
  }
}

import CrashRing
import Glibc
import LinuxSystem

// Processes that one crashd hands over to the next: systemd stores their descriptors meanwhile.
extension AttachLoop {
  /// Resumes attached processes of an earlier crashd.
  ///
  /// The pidfd shows whether a process died meanwhile, and its ring has the rest.
  mutating func takeKept() {
    for kept in configuration.kept {
      configuration.heartbeat.beat()
      let number = nextToken
      nextToken += 2
      let (identity, images) = kept.ring.introduction()
      let process = AttachedProcess(
        number: number,
        facts: ProcessFacts(
          identity, images, peer: kept.peer,
          surroundings: Surroundings.of(kept.peer, kept.pidfd)), ring: kept.ring,
        census: configuration.census)
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
    // After the processes: a process may have sent another hello.
    var trials = configuration.trials
    for kept in configuration.keptConnections {
      configuration.heartbeat.beat()
      switch trials?.begin(kept.name) ?? .look {
      case .look:
        accepted(kept.socket, keptName: kept.name)
        // The connection stays stored until its hello is read: a hello that crashes crashd would do so at each start.
        trials?.end(kept.name)
      case .skip: _ = leave(kept)
      case .giveUp:
        let peer = leave(kept)
        configuration.store?.forget(kept.name)
        configuration.ledger.lose(["hello": 1], of: peer, process: kept.name)
      }
    }
  }

  /// Leaves a hello unread for a later crashd.
  ///
  /// A live process that crashes later learns that there is no reader.
  /// - Returns: The peer.
  private func leave(_ kept: KeptConnection) -> Peer {
    let peer = (try? UnixSocket.peer(of: kept.socket.descriptor.number)) ?? Peer(pid: 0, uid: geteuid())
    let reason = "\(kept.name): crashd has ended \(HelloTrials.limit) times while it read this hello"
    refuse(kept.socket, peer, .limit(reason), as: "kept hello")
    kept.socket.hangUp()
    return peer
  }

  /// Stores a process's descriptors for the next crashd.
  ///
  /// systemd stores no descriptor twice: a ring that is stored already stays under its name.
  func keep(_ process: AttachedProcess, _ pidfd: Descriptor?, under name: String?) {
    guard let store = configuration.store else { return }
    process.keptName = name
    guard name == nil, let pidfd else { return }
    let name = store.name(of: process)
    process.keptName = name
    store.keep(process, pidfd: pidfd, as: name)
  }

  /// Removes a stored connection: its hello was read, or is not waited for any more.
  mutating func forgetConnection(_ number: UInt64) {
    guard let name = connections[number]?.keptName else { return }
    connections[number]?.keptName = nil
    configuration.store?.forget(name)
  }
}

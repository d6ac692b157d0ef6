import CrashRing

// Processes that one crashd leaves to the next: what is kept of them while none runs.
extension AttachLoop {
  /// Those that were attached before: of whoever died meanwhile the pidfd tells, and the ring holds what there is.
  mutating func takeKept() {
    for kept in configuration.kept {
      configuration.pulse.beat()
      let number = nextToken
      nextToken += 2
      let (identity, images) = kept.ring.introduction()
      let process = AttachedProcess(
        number: number,
        facts: ProcessFacts(
          identity, images, peer: kept.peer,
          surroundings: Surroundings.of(pid: kept.peer.pid, kept.pidfd)), ring: kept.ring,
        census: configuration.census)
      process.keptName = kept.name
      connections[number] = Connection(
        socket: nil, peer: kept.peer, deadline_ns: 0, process: process, pidfd: kept.pidfd)
      do throws(SystemError) { try poller.add(kept.pidfd, token: number | 1) } catch {
        configuration.ledger.refuse("kept descriptor", from: kept.peer, because: "\(error)")
        connections[number] = nil
        continue
      }
      if let events = process.facts.memory { memory.join(number, events) }
      configuration.events.yield(.attached(process, ImageFile.list(images)))
      announce(process)
    }
    // After the processes: one of these may be the same that says hello again.
    for kept in configuration.keptConnections { accepted(kept.socket, keptName: kept.name) }
  }

  /// Keeps a process's descriptors for a crashd that comes after this one.
  ///
  /// systemd keeps no descriptor twice: where its ring is kept already, it stays under the name that it has.
  func keep(_ process: AttachedProcess, _ pidfd: Descriptor?, under name: String?) {
    guard let store = configuration.store else { return }
    process.keptName = name
    guard name == nil, let pidfd else { return }
    let name = store.name(of: process)
    process.keptName = name
    store.keep(process, pidfd: pidfd, as: name)
  }

  /// The hello of a connection was taken, or nobody waits for it any more.
  mutating func forgetConnection(_ number: UInt64) {
    guard let name = connections[number]?.keptName else { return }
    connections[number]?.keptName = nil
    configuration.store?.forget(name)
  }
}

import CrashRing

// Processes that one crashd leaves to the next: what is kept of them while none runs.
extension AttachLoop {
  /// Those that were attached before: of whoever died meanwhile the pidfd tells, and the ring holds what there is.
  mutating func takeKept() {
    for kept in configuration.kept {
      let number = nextToken
      nextToken += 2
      let contents = kept.ring.mapping.contents()
      let process = AttachedProcess(
        number: number,
        facts: ProcessFacts(
          contents, peer: kept.peer, surroundings: Surroundings.of(pid: kept.peer.pid, kept.pidfd)), ring: kept.ring,
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
      configuration.events.yield(.attached(process, ImageFile.list(contents.images)))
      announce(process)
    }
  }

  /// Keeps a process's descriptors for a crashd that comes after this one.
  func keep(_ process: AttachedProcess, _ pidfd: Descriptor?) {
    guard let store = configuration.store, let pidfd else { return }
    let name = store.name(of: process)
    process.keptName = name
    store.keep(process, pidfd: pidfd, as: name)
  }
}

import LinuxSystem

// Reads the resource usage of processes: when they attach, at intervals, and when they crash.
extension AttachLoop {
  /// The schedule for reading the resource usage of processes.
  ///
  /// In each round, crashd reads the resource usage of every attached process once.
  struct Readings {
    var last_ns: UInt64 = 0
    var next_ns: UInt64 = 0
    /// The numbers of the connections whose processes were not read yet in the current round of readings.
    var left: [UInt64] = []

    /// The maximum number of processes whose resource usage is read in one iteration of the loop.
    ///
    /// A message from a process waits for at most this number of readings.
    static let perTurn = 64
    static let period_ns: UInt64 = 10_000_000_000
    /// The time that each attached process adds to the minimum interval between two rounds of readings.
    ///
    /// One reading takes about 50 µs, so the readings use at most about a thousandth of the attach thread's time.
    static let periodPerProcess_ns: UInt64 = 50_000_000
    /// The time that replaces `periodPerProcess_ns` after a control group reached its memory limit.
    ///
    /// With this value, the readings use at most about a fortieth of the attach thread's time.
    static let hurryPerProcess_ns: UInt64 = 2_000_000
  }

  /// Reads the resource usage of a new process, and queues the slower reads of `/proc` for another thread.
  func readFirst(_ process: AttachedProcess, _ pidfd: Descriptor?) {
    guard let pidfd, !process.facts.isPIDClaimed else { return }
    process.readings.measure(process.facts, pidfd)
    readLater(process, pidfd)
  }

  private func readLater(_ process: AttachedProcess, _ pidfd: Descriptor) {
    let account = configuration.limits.account(of: process.facts.peer.uid)
    process.readings.readLater(process.facts, pidfd, of: account, configuration.settings.current.privacy)
  }

  /// Reads the resource usage of a process that is in its crash handler.
  func readAtCrash(_ number: UInt64) {
    guard let connection = connections[number], let process = connection.process, let pidfd = connection.pidfd,
      !process.facts.isPIDClaimed
    else {
      return
    }
    process.readings.measure(process.facts, pidfd, isOfCrash: true)
  }

  /// Reads the resource usage of all processes, if the next round of readings is due.
  ///
  /// The readings are needed because crashd cannot read a process any more after a SIGKILL.
  mutating func readDue() {
    let now = Moment.monotonic_ns()
    if readings.left.isEmpty {
      guard now >= readings.next_ns else { return }
      readings.left = Array(connections.keys)
    }
    for number in readings.left.suffix(Readings.perTurn) {
      guard let connection = connections[number], let process = connection.process, let pidfd = connection.pidfd,
        !process.facts.isPIDClaimed
      else { continue }
      process.readings.measure(process.facts, pidfd)
      readLater(process, pidfd)
    }
    readings.left.removeLast(min(Readings.perTurn, readings.left.count))
    guard readings.left.isEmpty else { return }
    readings.last_ns = now
    readings.next_ns = now + max(Readings.period_ns, UInt64(connections.count) * Readings.periodPerProcess_ns)
  }

  /// Schedules the next readings earlier, because a control group reached its memory limit.
  ///
  /// At the limit, the kernel can kill a process of the group at any time.
  mutating func readSoon() {
    readings.next_ns = min(
      readings.next_ns, readings.last_ns + UInt64(connections.count) * Readings.hurryPerProcess_ns)
  }

  /// Returns the time until the next round of readings; nil if no process is attached.
  func timeToReading_ns(at now_ns: UInt64) -> UInt64? {
    guard connections.values.contains(where: { $0.process != nil && $0.pidfd != nil }) else { return nil }
    return readings.left.isEmpty && readings.next_ns > now_ns ? readings.next_ns - now_ns : 0
  }
}

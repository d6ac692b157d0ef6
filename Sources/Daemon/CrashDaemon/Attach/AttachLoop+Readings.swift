import LinuxSystem

// What processes use: read at the attach, now and then, and at a crash.
extension AttachLoop {
  /// The schedule of readings.
  struct Readings {
    var last_ns: UInt64 = 0
    var next_ns: UInt64 = 0
    /// The numbers of the connections that this round has not read yet.
    var left: [UInt64] = []

    /// The limit of one turn: messages of processes wait for no more.
    static let perTurn = 64
    static let period_ns: UInt64 = 10_000_000_000
    /// Limits the readings to about a thousandth of the attach thread's time: one takes about 50 µs.
    static let periodPerProcess_ns: UInt64 = 50_000_000
    /// The same when a control group reaches its limit: about a fortieth.
    static let hurryPerProcess_ns: UInt64 = 2_000_000
  }

  /// Reads what a new process uses, and what else `/proc` shows of it.
  func readFirst(_ process: AttachedProcess, _ pidfd: Descriptor?) {
    guard let pidfd else { return }
    process.readings.measure(process.facts, pidfd)
    readLater(process, pidfd)
  }

  private func readLater(_ process: AttachedProcess, _ pidfd: Descriptor) {
    let account = configuration.limits.account(of: process.facts.peer.uid)
    process.readings.readLater(process.facts, pidfd, of: account, configuration.settings.current.privacy)
  }

  /// Reads what a process uses that stands in its crash handler.
  func readAtCrash(_ number: UInt64) {
    guard let connection = connections[number], let process = connection.process, let pidfd = connection.pidfd else {
      return
    }
    process.readings.measure(process.facts, pidfd, isOfCrash: true)
  }

  /// Reads what all processes use, when that is due: the last reading before a SIGKILL is all that is known of it.
  mutating func readDue() {
    let now = Moment.monotonic_ns()
    if readings.left.isEmpty {
      guard now >= readings.next_ns else { return }
      readings.left = Array(connections.keys)
    }
    for number in readings.left.suffix(Readings.perTurn) {
      guard let connection = connections[number], let process = connection.process, let pidfd = connection.pidfd else {
        continue
      }
      process.readings.measure(process.facts, pidfd)
      readLater(process, pidfd)
    }
    readings.left.removeLast(min(Readings.perTurn, readings.left.count))
    guard readings.left.isEmpty else { return }
    readings.last_ns = now
    readings.next_ns = now + max(Readings.period_ns, UInt64(connections.count) * Readings.periodPerProcess_ns)
  }

  /// A control group reached its limit: one of its processes may be killed soon.
  mutating func readSoon() {
    readings.next_ns = min(
      readings.next_ns, readings.last_ns + UInt64(connections.count) * Readings.hurryPerProcess_ns)
  }

  /// The time until the next reading; nil: there is no process.
  func timeToReading_ns(at now_ns: UInt64) -> UInt64? {
    guard connections.values.contains(where: { $0.process != nil && $0.pidfd != nil }) else { return nil }
    return readings.left.isEmpty && readings.next_ns > now_ns ? readings.next_ns - now_ns : 0
  }
}

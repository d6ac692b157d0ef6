import LinuxSystem

// What processes use: read at the attach, now and then, and at a crash.
extension AttachLoop {
  /// The schedule of readings.
  struct Readings {
    var last_ns: UInt64 = 0
    var next_ns: UInt64 = 0

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
    process.readings.readLater(process.facts, pidfd, configuration.settings.current.privacy)
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
    guard now >= readings.next_ns else { return }
    for connection in connections.values {
      guard let process = connection.process, let pidfd = connection.pidfd else { continue }
      process.readings.measure(process.facts, pidfd)
    }
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
    return readings.next_ns > now_ns ? readings.next_ns - now_ns : 0
  }
}

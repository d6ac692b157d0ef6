import CrashProtocol
import CrashReport
import CrashRing
import Synchronization

extension ProcessSummary {
  /// Creates the summary of an attached process for clients.
  init(_ process: AttachedProcess, isWithheld: Bool) {
    let facts = process.facts
    self.init(
      pid: Int(facts.peer.pid), uid: Int(facts.peer.uid), name: facts.identity.name,
      executable: facts.identity.executable, buildID: facts.buildID,
      startTime: Moment(nanoseconds: facts.identity.startTime_ns).description,
      attachTime: process.attachTime.description,
      state: process.hasEnded.load(ordering: .acquiring) ? "ended" : "attached",
      memory: Self.memory(process.ring.memoryMode(), isWithheld: isWithheld),
      selfTest: process.ring.guardSelfTest().map { SelfTest($0) },
      containment: process.ring.containment().map { Containment($0) }, container: process.context.container,
      isPIDClaimed: facts.isPIDClaimed ? true : nil)
  }

  /// Returns which part of the process's memory the crash reports of the process contain, with the names that the
  /// interface uses.
  private static func memory(_ mode: RingContents.MemoryFacts.Mode, isWithheld: Bool) -> Memory {
    switch mode {
    case .none: .nothing
    case .withheld: .withheld
    case .scrubbed: isWithheld ? .discarded : .scrubbed
    case .full: isWithheld ? .discarded : .full
    }
  }
}

extension ProcessSummary.Containment {
  fileprivate init(_ containment: RingContents.Containment) {
    self.init(
      mode: containment.mode, obstacle: containment.obstacle, budget: Int(containment.budget),
      contained: Int(containment.contained), isDraining: containment.drain.map { $0.end == nil } ?? false)
  }
}

extension ProcessSummary.SelfTest {
  fileprivate init(_ test: GuardSelfTest) {
    // For a kind that this version of crashd does not define, the result is the number of the kind.
    func name(_ kind: Int) -> String { GuardKinds.name(of: kind) ?? "\(kind)" }
    self.init(
      asked: test.asked.map(name), failing: test.failing.map(name), checks: test.checks, failures: test.failures,
      // Replace a time in the future with the current time, because the process can report any time.
      time: Moment(nanoseconds: min(test.time_ns, Moment.now().nanoseconds)).description)
  }
}

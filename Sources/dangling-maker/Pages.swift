import CrashShield
import CrashShieldGuardPages

/// Uses a dead object whose memory was a guard slot, without the quarantine.
///
/// Every object of the classes' sizes gets a slot.
func useInSlot(_ kind: Kind) async {
  do {
    // No crashd is needed: what was seen stands in the process, too.
    try Shield.start(.init(socket: "/nonexistent/attach", spool: "/nonexistent/spool"))
    GuardPages.configure(slots: 256, oneIn: 1)
    try GuardPages.protect(Session.self, Guest.self, Box<Int>.self)
  } catch { fail("\(error)") }
  let number = await kind.use()
  let incidents = GuardPages.incidents()
  let names = Set(
    incidents.map { incident in
      switch incident.kind {
      case .read: "read"
      case .write: "write"
      case .doubleFree: "double-free"
      case .invalidFree: "invalid-free"
      case .overflow: "overflow"
      case .underflow: "underflow"
      case .trampled: "trampled"
      }
    })
  let stacks = incidents.allSatisfy { incident in
    ![incident.use, incident.release, incident.allocation].contains { $0.frames.isEmpty }
  }
  report(names, value: number.map { "\($0)" } ?? "none", stacks: stacks)
}

import CrashShield
import CrashShieldGuardPages
import Dispatch

/// Accesses a deallocated object in a guard slot, without the quarantine.
///
/// Every object of the classes' sizes gets a slot.
func useInSlot(_ kind: Kind) async {
  startAlone()
  protectBySlots(.absorb)
  reportPages(await kind.use())
}

/// The same with a crashd that looks on; the process ends by it, or goes on.
func useInSlot(_ kind: Kind, isFatal: Bool) async {
  startAttached()
  protectBySlots(isFatal ? .crash : .absorb)
  print("number \(await kind.use() ?? 0)")
}

private func protectBySlots(_ policy: GuardPages.Policy) {
  GuardPages.configure(slots: 256, oneIn: 1)
  do throws(GuardPagesError) {
    try GuardPages.protect(Session.self, Guest.self, Box<Int>.self, policy: policy)
  } catch { fail("\(error)") }
}

/// Starts the shield without crashd: what was seen stands in the process, too.
func startAlone() {
  do {
    try Shield.startOrThrow(.init(socket: "/nonexistent/attach", spool: "/nonexistent/spool"))
  } catch { fail("\(error)") }
}

/// Starts the shield, and returns when crashd has the ring.
func startAttached() {
  let attached = DispatchSemaphore(value: 0)
  do throws(Shield.StartError) {
    try Shield.startOrThrow(Shield.Configuration { if $0.connection == .attached { attached.signal() } })
  } catch { fail("\(error)") }
  // Second by second: a machine that stands still uses up one of them.
  let isAttached = (0..<120).contains { _ in attached.wait(timeout: .now() + .seconds(1)) == .success }
  if !isAttached { fail("crashd did not take the ring") }
}

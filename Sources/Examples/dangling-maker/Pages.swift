import CrashShield
import CrashShieldGuardPages
import Dispatch

/// Accesses a deallocated object in a guard slot (a page that is protected after the free), without the quarantine.
///
/// Every object that has the size of a protected class gets a slot.
func useInSlot(_ kind: Kind) async {
  startAlone()
  protectBySlots(.absorb)
  reportPages(await kind.use())
}

/// Accesses a deallocated object in a guard slot with crashd attached.
///
/// If `isFatal` is true, the access ends the process.
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

/// Starts the shield without crashd.
///
/// A running crashd is not necessary, because the process also keeps its incidents.
func startAlone() {
  do {
    try Shield.startOrThrow(.init(socket: "/dev/null/attach", spool: "/dev/null/spool"))
  } catch { fail("\(error)") }
}

/// Starts the shield, and returns after crashd has received the ring.
func startAttached() {
  let attached = DispatchSemaphore(value: 0)
  do throws(Shield.StartError) {
    try Shield.startOrThrow(Shield.Configuration { if $0.connection == .attached { attached.signal() } })
  } catch { fail("\(error)") }
  // Wait in steps of one second. If the machine is suspended meanwhile, the suspension uses up only one step.
  let isAttached = (0..<120).contains { _ in attached.wait(timeout: .now() + .seconds(1)) == .success }
  if !isAttached { fail("crashd did not take the ring") }
}

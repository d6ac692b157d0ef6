import CrashShield
import CrashShieldGuardPages
import Dispatch

/// A realistic use-after-free.
///
/// Most scenarios do not call through the vtable.
///
/// Without protection, most scenarios continue, because the contents of the freed memory are still unchanged.
enum Scenario: String, CaseIterable {
  case zeroArray = "zero-array"
  case race
  case listWalk = "list-walk"
  case managedBuffer = "managed-buffer"
  case delegateThread = "delegate-thread"
  case staleCache = "stale-cache"
  case observer
  case taskOutlives = "task-outlives"

  /// Causes the use-after-free, and returns its result.
  func run() async -> Int {
    switch self {
    case .zeroArray:
      let basket = unsafe dangling { Basket() }
      drop()
      return unsafe basket._withUnsafeGuaranteedRef { $0.total() }
    case .race:
      let worker = unsafe dangling { Worker() }
      // Breaks memory safety on purpose: another thread drops the last reference during the call.
      return unsafe worker._withUnsafeGuaranteedRef { $0.work { onOtherThread { drop() } } }
    case .listWalk: return walkList()
    case .managedBuffer:
      let buffer = unsafe dangling { Numbers.make() }
      drop()
      return unsafe buffer._withUnsafeGuaranteedRef { $0.sum() }
    case .delegateThread:
      let caller = Caller(unsafe dangling { Delegate() }.takeUnretainedValue())
      drop()
      onOtherThread { caller.call() }
      return caller.result
    case .staleCache:
      let entry = unsafe dangling { Entry() }
      let cache = unsafe ["key": entry]
      drop()
      return unsafe cache["key"]?._withUnsafeGuaranteedRef { $0.size() } ?? 0
    case .observer:
      let observers = unsafe [Unmanaged<Observer>](unsafeUninitializedCapacity: 2) { buffer, count in
        for index in 0..<2 { unsafe buffer[index] = dangling { index == 0 ? Observer() : Listener() } }
        count = 2
      }
      drop()
      return unsafe observers.reduce(0) { sum, observer in
        unsafe sum + observer._withUnsafeGuaranteedRef { $0.update() }
      }
    case .taskOutlives:
      let screen = unsafe dangling { Screen() }
      drop()
      return await Task { unsafe await load(screen.takeUnretainedValue()) }.value
    }
  }
}

@inline(never)
private func load(_ screen: Screen) async -> Int { await screen.load() }

/// Removes the current node, and then reads the reference to the next node from the removed node.
@inline(never)
private func walkList() -> Int {
  var first: Node? = Node(1, Node(2, Node(3, nil)))
  var at = unsafe first.map { unsafe Unmanaged.passUnretained($0) }
  var sum = 0
  while let node = unsafe at {
    if unsafe node._withUnsafeGuaranteedRef({ $0.value }) == 1 { first = first?.next }
    sum += unsafe node._withUnsafeGuaranteedRef { $0.value }
    unsafe at = node._withUnsafeGuaranteedRef { unsafe $0.next.map { unsafe Unmanaged.passUnretained($0) } }
  }
  return withExtendedLifetime(first) { sum }
}

private func onOtherThread(_ work: @escaping () -> Void) {
  let ended = DispatchSemaphore(value: 0)
  nonisolated(unsafe) let work = work
  DispatchQueue.global().async {
    unsafe work()
    ended.signal()
  }
  ended.wait()
}

private let victims: [AnyClass] = [
  Basket.self, Worker.self, Node.self, Numbers.self, Delegate.self, Entry.self, Observer.self, Listener.self,
  Screen.self,
  Overlay.self,
]

/// Causes the use-after-free under a policy of the quarantine, in guard slots, or without protection, and prints the
/// result.
///
/// If the policy's name begins with `attached-`, the process is attached to crashd.
func run(_ scenario: Scenario, under name: String) async {
  let isAttached = name.hasPrefix("attached-")
  if isAttached { startAttached() }
  let policy = isAttached ? String(name.dropFirst("attached-".count)) : name
  if policy == "none" { return reportQuarantine(await scenario.run()) }
  if policy == "slot" {
    startAlone()
    GuardPages.configure(slots: 256, oneIn: 1)
    for victim in victims {
      do throws(GuardPagesError) {
        try GuardPages.protect(victim, policy: .absorb)
      } catch .tailAllocated {
        // Guard slots do not support this class, so continue without them. The result then shows that the fault is not
        // detected.
      } catch { fail("\(error)") }
    }
    return reportPages(await scenario.run())
  }
  guard let policy = policies[policy] else { fail("no such policy") }
  for victim in victims {
    do throws(Shield.ProtectionError) { try Shield.protect(victim, policy: policy) } catch { fail("\(error)") }
  }
  reportQuarantine(await scenario.run())
}

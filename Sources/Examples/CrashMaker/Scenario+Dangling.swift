// Use-after-free crashes. These use-after-free accesses always crash, because they dereference the value that glibc has
// written into the freed block. Other use-after-free accesses can succeed by chance.
internal import CCrashMaker

extension Scenario {
  static let dangling = [
    Scenario(
      "use-after-free-call", "SIGSEGV", "faultUseAfterFreeCall", summary: "call a method of an object that was freed",
      faultUseAfterFreeCall),
    c("c-callback-context", "SIGSEGV", "call back with a context that was freed", cs_fault_c_callback_context),
  ]
}

// The class is neither private nor final, so that its methods are called through its metadata.
class Basket {
  var lines = [opaque(1)]

  @inline(never) func total() -> Int { lines.count }
}

class SpecialBasket: Basket {
  @inline(never) override func total() -> Int { lines.count * opaque(2) }
}

@inline(never) func basket() -> Basket { opaque(0) == 0 ? SpecialBasket() : Basket() }

@inline(never) private func faultUseAfterFreeCall() {
  // Breaks memory safety on purpose: releases the reference too early, and then calls a method of the deallocated
  // object.
  let reference = unsafe Unmanaged.passRetained(basket())
  unsafe reference.release()
  _ = opaque(unsafe reference._withUnsafeGuaranteedRef { $0.total() })  // fault: use-after-free-call
}

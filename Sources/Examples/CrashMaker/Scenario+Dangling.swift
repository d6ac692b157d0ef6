// Use of objects that are gone: by chance it goes well, but never here, where glibc's mark is followed as a pointer.
internal import CCrashMaker

extension Scenario {
  static let dangling = [
    Scenario(
      "use-after-free-call", "SIGSEGV", "faultUseAfterFreeCall", summary: "call a method of an object that was freed",
      faultUseAfterFreeCall),
    c("c-callback-context", "SIGSEGV", "call back with a context that was freed", cs_fault_c_callback_context),
  ]
}

// Neither private nor final: its methods are found through its metadata.
class Basket {
  var lines = [opaque(1)]

  @inline(never) func total() -> Int { lines.count }
}

class SpecialBasket: Basket {
  @inline(never) override func total() -> Int { lines.count * opaque(2) }
}

@inline(never) func basket() -> Basket { opaque(0) == 0 ? SpecialBasket() : Basket() }

@inline(never) private func faultUseAfterFreeCall() {
  // The reference that passRetained made is released too early: what comes after is the fault.
  let reference = unsafe Unmanaged.passRetained(basket())
  unsafe reference.release()
  _ = opaque(unsafe reference._withUnsafeGuaranteedRef { $0.total() })  // fault: use-after-free-call
}

// Each kind of use after free, in a function of its own whose name scripts/check/dangling finds in the object code: there
// it sees whether the call is still a virtual one.
import Glibc

@_silgen_name("access_virtual_call") @inline(never)
func callVirtually(_ session: Session) -> Int { session.greet() }

@_silgen_name("access_devirtualised_call") @inline(never)
func callDirectly(_ session: Session) -> Int { session.plain() }

@_silgen_name("access_field_read") @inline(never)
func readField(_ session: Session) -> Int {
  session.number  // fault: field-read
}

@_silgen_name("access_field_write") @inline(never)
func writeField(_ session: Session) -> Int {
  session.number = 8
  return 8
}

@_silgen_name("access_async_method") @inline(never)
func callAsync(_ session: Session) async -> Int { await session.later() }

@_silgen_name("access_protocol_witness") @inline(never)
func callWitness(_ object: any Answering) -> Int { object.answer() }

@_silgen_name("access_generic_class") @inline(never)
func readGeneric(_ box: Box<Int>) -> Int { box.get() }

@_silgen_name("access_closure_capture") @inline(never)
func closureCapture(_ session: Session) -> Int { session.greet() }

@_silgen_name("access_c_callback") @inline(never)
func callback(_ session: Session) -> Int { session.greet() }

// In functions of their own: the optimizer leaves out a pair that it sees.
@inline(never)
func taken(_ session: Unmanaged<Session>) -> Unmanaged<Session> { unsafe session.retain() }

@inline(never)
func giveBack(_ session: Unmanaged<Session>) { unsafe session.release() }

/// A closure that holds the object without counting.
@inline(never)
func capturing(_ session: Session) -> () -> Int {
  { [unowned(unsafe) session] in unsafe closureCapture(session) }
}

/// The result in the callback below.
nonisolated(unsafe) var answer = 0

/// A C function that gives a context back to its callback, on another thread.
@inline(never)
func callBack(with context: UnsafeMutableRawPointer) {
  var thread = pthread_t()
  // The callback gets the context that is passed here; what is behind it is the point of this program.
  let result = unsafe pthread_create(
    &thread, nil,
    { context in
      guard let context = unsafe context else { return nil }
      let session = unsafe Unmanaged<Session>.fromOpaque(context)
      unsafe answer = session._withUnsafeGuaranteedRef { callback($0) }
      return nil
    }, context)
  guard result == 0 else { fail("no thread") }
  pthread_join(thread, nil)
}

// Each access kind is in its own function. scripts/check/dangling finds these functions in the object code, and checks
// whether the compiler has kept the call virtual.
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

// The retain and the release are in separate functions, because the optimizer removes both from one function.
@inline(never)
func taken(_ session: Unmanaged<Session>) -> Unmanaged<Session> { unsafe session.retain() }

@inline(never)
func giveBack(_ session: Unmanaged<Session>) { unsafe session.release() }

/// Returns a closure that refers to the object without retaining it.
@inline(never)
func capturing(_ session: Session) -> () -> Int {
  { [unowned(unsafe) session] in unsafe closureCapture(session) }
}

/// The result of the callback, which runs on the thread that `pthread_create` starts below.
nonisolated(unsafe) var answer = 0

/// Simulates a C function that passes a context to its callback, on another thread.
@inline(never)
func callBack(with context: UnsafeMutableRawPointer) {
  var thread = pthread_t()
  // Breaks memory safety on purpose: pthread_create passes the context to the callback, although the object at this
  // address can be deallocated.
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

internal import CShim

/// Runs a body that can call the program's code, while the caller holds a lock of the shield.
///
/// A trap in the body ends the process even in isolated work. If the trap were contained, other threads would wait for
/// the lock forever.
package func holding<Result: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  // Invariant: the returned value is valid until `cs_shim_contained_let_go` releases it.
  let hold = unsafe cs_shim_contained_hold(nil)
  defer { unsafe cs_shim_contained_let_go(hold) }
  return try body()
}

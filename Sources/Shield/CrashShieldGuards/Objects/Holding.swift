internal import CShim

/// Does what may run the program's own code while it has a lock of ours: a trap in there ends the process, also in
/// isolated work, for else others would wait for the lock for ever.
package func holding<Result: ~Copyable, Failure: Error>(
  _ body: () throws(Failure) -> Result
) throws(Failure) -> Result {
  // The returned value is valid until it is released.
  let hold = unsafe cs_shim_contained_hold(nil)
  defer { unsafe cs_shim_contained_let_go(hold) }
  return try body()
}

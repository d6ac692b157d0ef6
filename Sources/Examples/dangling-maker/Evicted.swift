import CrashShield

/// The blocks that reuse the freed memory.
nonisolated(unsafe) private var texts: [UnsafeMutablePointer<UInt64>] = unsafe []

// This function must be a Swift function with a mangled name, because crashd detects Swift programs by the names of
// their functions.
@inline(never)
private func greet(_ session: Session) -> Int { session.greet() }

/// Calls a method of an object that has left the quarantine, with crashd attached.
///
/// Other data already uses the object's memory at the time of the call.
func useAfterQuarantine() {
  startAttached()
  do throws(Shield.ProtectionError) {
    try Shield.protect(Session.self, Guest.self, policy: .zero)
  } catch { fail("\(error)") }
  let dead = unsafe dangling { Session() }
  drop()
  Shield.drainQuarantine()
  for _ in 0..<64 {
    // The block has as many words as the object had, so that malloc reuses the object's memory.
    let text = UnsafeMutablePointer<UInt64>.allocate(capacity: 3)
    unsafe text.initialize(repeating: 0x2f76_312f_6970_612f, count: 3)
    unsafe texts.append(text)
  }
  print("number \(unsafe dead._withUnsafeGuaranteedRef { greet($0) })")
}

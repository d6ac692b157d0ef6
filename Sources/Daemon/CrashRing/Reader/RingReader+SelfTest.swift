internal import CShimRing

extension RingReader {
  /// Reads the result of the last self-test of the program's guards.
  ///
  /// Returns nil in three cases: the program has not run the self-test, the result changed during every attempt, or the
  /// result is inconsistent.
  public func guardSelfTest() -> GuardSelfTest? {
    let offset = RingLayout.selfTest
    // The static assertions on the ring layout ensure that the result is inside the header and aligned.
    guard let test = unsafe shared.baseAddress?.advanced(by: offset).assumingMemoryBound(to: cs_ring_self_test.self)
    else { return nil }
    for _ in 0..<readAttempts {
      let before = unsafe cs_ring_self_test_sequence_acquire(test)
      if before == 0 { return nil }
      let copy = unsafe PrivateCopy<cs_ring_self_test>(of: shared, at: offset)
      guard before % 2 == 0, unsafe cs_ring_self_test_sequence_recheck(test) == before else { continue }
      return checked(copy)
    }
    return nil
  }

  /// Returns the result of the self-test; nil if it is inconsistent.
  ///
  /// The number of checks must be at least the number of tested kinds. The number of failures must be at least the
  /// number of failing kinds.
  private func checked(_ copy: PrivateCopy<cs_ring_self_test>) -> GuardSelfTest? {
    let (asked, failing) = (copy[\.asked], copy[\.failing])
    let (checks, failures) = (Int(copy[\.checks]), Int(copy[\.failures]))
    // The numbers of guard kinds begin with 1, so bit 0 must not be set.
    guard asked & 1 == 0, failing & ~asked == 0, checks >= asked.nonzeroBitCount, failures <= checks,
      failures >= failing.nonzeroBitCount, failing != 0 || failures == 0
    else { return nil }
    return GuardSelfTest(
      time_ns: copy[\.time_ns], asked: numbers(asked), failing: numbers(failing), checks: checks, failures: failures)
  }

  private func numbers(_ mask: UInt64) -> [Int] { (0..<64).filter { mask >> $0 & 1 != 0 } }
}

/// The result of a process's guard self-test, as the process reports it.
public struct GuardSelfTest: Sendable, Equatable {
  /// The time when the self-test ended, in nanoseconds since 1970.
  public var time_ns: UInt64
  /// The numbers of the guard kinds that were tested, in ascending order.
  ///
  /// This version of crashd may not define some of these kinds.
  public var asked: [Int]
  /// The numbers of the guard kinds with at least one failed check.
  ///
  /// These kinds are a subset of `asked`.
  public var failing: [Int]
  /// The number of checks.
  public var checks: Int
  /// The number of failed checks.
  public var failures: Int
}

internal import CShimRing

extension RingReader {
  /// What the program's last self-test of its guards found.
  ///
  /// Nil: there was none, it is being written without end, or what stands there contradicts itself.
  public func guardSelfTest() -> GuardSelfTest? {
    let offset = RingLayout.selfTest
    // The layout's assertions put it inside the header, aligned.
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

  /// There are at least as many checks as kinds that were asked, and the same of what failed.
  private func checked(_ copy: PrivateCopy<cs_ring_self_test>) -> GuardSelfTest? {
    let (asked, failing) = (copy[\.asked], copy[\.failing])
    let (checks, failures) = (Int(copy[\.checks]), Int(copy[\.failures]))
    // There is no kind 0.
    guard asked & 1 == 0, failing & ~asked == 0, checks >= asked.nonzeroBitCount, failures <= checks,
      failures >= failing.nonzeroBitCount, failing != 0 || failures == 0
    else { return nil }
    return GuardSelfTest(
      time_ns: copy[\.time_ns], asked: numbers(asked), failing: numbers(failing), checks: checks, failures: failures)
  }

  private func numbers(_ mask: UInt64) -> [Int] { (0..<64).filter { mask >> $0 & 1 != 0 } }
}

/// What a self-test of the guards found in a process, by its own word.
public struct GuardSelfTest: Sendable, Equatable {
  /// When it ended, in nanoseconds since 1970.
  public var time_ns: UInt64
  /// The numbers of the kinds that were asked, in their order; some may be of later versions.
  public var asked: [Int]
  /// The same of the kinds of which a check failed: some of `asked`.
  public var failing: [Int]
  /// How many checks were asked.
  public var checks: Int
  /// How many of them failed.
  public var failures: Int
}

import CShimRing
@testable import CrashRing
import Testing

@Suite("A self-test of a ring")
struct SelfTestTests {
  private func read(_ ring: TestRing) throws -> GuardSelfTest? {
    // Invariant: the ring outlives the reader.
    defer { withExtendedLifetime(ring) {} }
    return try unsafe RingReader(bytes: UnsafeRawBufferPointer(ring.memory)).guardSelfTest()
  }

  @Test("the ring of an older program, which has no self-test, is read without a self-test result")
  func none() throws {
    #expect(try read(TestRing()) == nil)
  }

  @Test("a ring's self-test is read with the numbers of its guard kinds, including kinds of later versions")
  func whole() throws {
    let ring = TestRing()
    ring.setSelfTest(asked: 1 << 1 | 1 << 35 | 1 << 63, failing: 1 << 35 | 1 << 63, checks: 9, failures: 3)
    #expect(
      try read(ring)
        == GuardSelfTest(time_ns: 5, asked: [1, 35, 63], failing: [35, 63], checks: 9, failures: 3))
    ring.setSelfTest(asked: 2, failing: 0, checks: 1, failures: 0, time_ns: .max, sequence: .max - 1)
    #expect(try read(ring) == GuardSelfTest(time_ns: .max, asked: [1], failing: [], checks: 1, failures: 0))
  }

  @Test("a ring's self-test that is being written is not read", arguments: [1, 3, UInt64.max])
  func half(sequence: UInt64) throws {
    let ring = TestRing()
    ring.setSelfTest(asked: 2, failing: 0, checks: 1, failures: 0, sequence: sequence)
    #expect(try read(ring) == nil)
  }

  @Test(
    "a self-test in a ring whose counts contradict each other is not read",
    arguments: [
      (3, 0, 2, 0), (2, 4, 2, 1), (6, 0, 1, 0), (6, 2, 2, 3), (6, 6, 2, 1), (6, 0, 2, 1), (.max, .max, .max, .max),
    ] as [(UInt64, UInt64, UInt32, UInt32)])
  func hostile(asked: UInt64, failing: UInt64, checks: UInt32, failures: UInt32) throws {
    let ring = TestRing()
    ring.setSelfTest(asked: asked, failing: failing, checks: checks, failures: failures)
    #expect(try read(ring) == nil)
  }
}

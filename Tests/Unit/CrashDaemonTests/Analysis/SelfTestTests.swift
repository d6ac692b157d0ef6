import CrashProtocol
import CrashReport
import Testing

@testable import CrashDaemon

/// Tests the reply of `Processes` about a process that publishes a self-test of its guards in its ring.
@Suite("Self-tests of attached processes")
struct SelfTestTests {
  /// Returns the value of the key `selfTest` in the reply about a process with this ring.
  private static func selfTest(_ ring: TestRing) async throws -> [String: JSONValue]? {
    var selfTest: JSONValue?
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      let client = try await daemon.client()
      var processes: [JSONValue] = []
      // Repeats the call, because a process appears in the list only after crashd has accepted it.
      try await client.until {
        processes = try await client.call("io.crashshield.Crashd.Processes").array("processes")
        return !processes.isEmpty
      }
      guard case .object(let first) = try #require(processes.first) else { return }
      #expect(first.string("memory") != nil)
      selfTest = first["selfTest"]
    }
    if case .object(let test) = selfTest { return test }
    #expect(selfTest == nil)
    return nil
  }

  @Test("a process that has run no self-test has no key 'selfTest'")
  func none() async throws {
    #expect(try await Self.selfTest(TestRing()) == nil)
  }

  @Test("the self-test shows guard kinds by name, unknown kinds by number, and a time that is not in the future")
  func kinds() async throws {
    var ring = TestRing()
    let time_ns: UInt64 = 1_700_000_002_000_000_000
    ring.setSelfTest(
      asked: 1 << 1 | 1 << 9 | 1 << 63, failing: 1 << 9 | 1 << 63, checks: 7, failures: 2, time_ns: time_ns)
    let first = try await Self.selfTest(ring)
    let test = try #require(first)
    #expect(test.array("asked") == [.string("index"), .string("cast"), .string("63")])
    #expect(test.array("failing") == [.string("cast"), .string("63")])
    #expect(test["checks"] == .int(7) && test["failures"] == .int(2))
    #expect(test.string("time") == Moment(nanoseconds: time_ns).description)

    ring.setSelfTest(asked: 2, failing: 0, checks: 1, failures: 0, time_ns: .max)
    let later = try await Self.selfTest(ring)
    let clamped = try #require(later?.string("time"))
    #expect(clamped <= Moment.now().description)
  }
}

import CrashProtocol
import CrashReport
import Testing

@testable import CrashDaemon

/// What a process says of its guards, as whoever asks for the processes is told.
@Suite("Self-tests of attached processes")
struct SelfTestTests {
  /// The key `selfTest` of a process with this ring.
  private static func told(_ ring: TestRing) async throws -> [String: JSONValue]? {
    var told: JSONValue?
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      let client = try await daemon.client()
      let processes = try await client.call("io.crashshield.Crashd.Processes").array("processes")
      guard case .object(let first) = try #require(processes.first) else { return }
      #expect(first.string("memory") != nil)
      told = first["selfTest"]
    }
    if case .object(let test) = told { return test }
    #expect(told == nil)
    return nil
  }

  @Test("one that has not asked has none")
  func none() async throws {
    #expect(try await Self.told(TestRing()) == nil)
  }

  @Test("kinds have their names, those of later versions their numbers, and no time is to come")
  func told() async throws {
    var ring = TestRing()
    let time_ns: UInt64 = 1_700_000_002_000_000_000
    ring.setSelfTest(
      asked: 1 << 1 | 1 << 9 | 1 << 63, failing: 1 << 9 | 1 << 63, checks: 7, failures: 2, time_ns: time_ns)
    let told = try await Self.told(ring)
    let test = try #require(told)
    #expect(test.array("asked") == [.string("index"), .string("cast"), .string("63")])
    #expect(test.array("failing") == [.string("cast"), .string("63")])
    #expect(test["checks"] == .int(7) && test["failures"] == .int(2))
    #expect(test.string("time") == Moment(nanoseconds: time_ns).description)

    ring.setSelfTest(asked: 2, failing: 0, checks: 1, failures: 0, time_ns: .max)
    let later = try await Self.told(ring)
    let clamped = try #require(later?.string("time"))
    #expect(clamped <= Moment.now().description)
  }
}

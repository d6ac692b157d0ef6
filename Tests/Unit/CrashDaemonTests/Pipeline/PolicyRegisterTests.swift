import CrashRing
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

struct PolicyRegisterTests {
  private static func process(_ number: UInt64) throws -> AttachedProcess {
    let source = try RingSource(memory: TestRing().memory())
    let facts = ProcessFacts(source.mapping.contents(), peer: Peer(pid: 4711, uid: geteuid()), unit: nil)
    return AttachedProcess(number: number, facts: facts, ring: source)
  }

  @Test("the policy receives attached and ended processes in order, and has all of them after settle")
  func order() async throws {
    let policy = try #require(TestDaemon(TestDirectory()).analysis.policy)
    let register = PolicyRegister(policy)
    let processes = try (1...40).map { try Self.process($0) }
    for process in processes {
      register.note(.attached(process))
      if process.number > 3 { register.note(.ended(process)) }
    }
    await register.settle()
    let known = await policy.services.values.flatMap(\.processes.keys)
    #expect(known.sorted() == [1, 2, 3])
    // Now settle() returns at once, because no registration is pending.
    await register.settle()
  }

  @Test("settle() returns at once if crashd has no protection policy")
  func none() async throws {
    let register = PolicyRegister(nil)
    register.note(.attached(try Self.process(1)))
    await register.settle()
    await withCheckedContinuation { register.note(.settled($0)) }
  }
}

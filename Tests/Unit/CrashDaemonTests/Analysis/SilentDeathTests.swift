import CrashReport
import CrashRing
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite
struct SilentDeathTests {
  private func death(
    _ end: ProcessEnd, memory: MemoryShare? = nil, losses: [String: Int] = [:], hasCrashed: Bool = false
  ) throws -> SilentDeath? {
    let ring = try RingSource(memory: TestRing().memory())
    let facts = ProcessFacts(ring.mapping.contents(), peer: Peer(pid: 4711, uid: 1000), unit: nil)
    let process = AttachedProcess(number: 4, facts: facts, ring: ring)
    return SilentDeath(
      EndedProcess(process: process, end: end, memory: memory), losses: losses, hasCrashed: hasCrashed)
  }

  @Test("a process that continues, exits normally or is terminated has no unreported exit")
  func noDeath() throws {
    for end in [ProcessEnd.goesOn, .status(0), .status(1 << 8), .status(SIGTERM), .status(SIGINT), .status(SIGHUP)] {
      #expect(try death(end, memory: .victim, losses: ["torn": 1]) == nil, "\(end)")
    }
  }

  @Test(
    "each kind of unreported exit is diagnosed with its cause",
    arguments: [
      (SIGKILL, nil, 0, "killed"), (SIGKILL, .none(in: "/a"), 0, "killed"), (SIGKILL, .none(in: "/a"), 1, "killed"),
      (SIGKILL, .victim, 0, "out-of-memory"),
      (SIGSEGV, nil, 0, "handler-did-not-run"), (SIGSEGV, .victim, 0, "handler-did-not-run"),
      (SIGSEGV, nil, 1, "torn-record"), (SIGPIPE, nil, 0, "unhandled-signal"),
      (SIGABRT | 0x80, nil, 0, "handler-did-not-run"),
    ] as [(Int32, MemoryShare?, Int, CrashReport.Cause)])
  func cause(status: Int32, memory: MemoryShare?, torn: Int, cause: CrashReport.Cause) throws {
    let death = try #require(try death(.status(status), memory: memory, losses: ["torn": torn]))
    #expect(death.diagnosis.cause == cause)
    #expect(death.death.signal == Int(status & 0x7f))
    #expect(death.death.dumpedCore == (status & 0x80 != 0))
  }

  @Test("an exit with an unknown status is an unreported exit only if the ring shows a lost crash")
  func unknown() throws {
    #expect(try death(.unknown) == nil)
    // An OOM kill in the control group is not evidence, because it can have ended another process of the group.
    #expect(try death(.unknown, memory: .victim) == nil)
    let death = try #require(try death(.unknown, losses: ["torn": 1]))
    #expect(death.diagnosis.cause == "unknown")
    #expect(death.title == "Ended without a trace")
    #expect(death.death.signal == nil)
  }

  @Test("with more killed processes than OOM kills in their control group, the reports mark the cause as uncertain")
  func shared() throws {
    let first = try #require(try death(.status(SIGKILL), memory: .shared(isVictim: true)))
    #expect(first.diagnosis.cause == "out-of-memory")
    #expect(first.title == "Killed, possibly by the kernel: out of memory")
    #expect(first.diagnosis.confidence == 0.5)
    let second = try #require(try death(.status(SIGKILL), memory: .shared(isVictim: false)))
    #expect(second.diagnosis.cause == "killed")
    #expect(second.title == "Killed (SIGKILL from outside)")
    #expect(second.diagnosis.sentence.contains("or possibly by the kernel because memory ran out"))
    #expect(second.diagnosis.confidence == 0.5)
    for death in [first, second] {
      #expect(death.diagnosis.sentence.contains("counted 1 OOM kill, and 2 of its processes were killed"))
      #expect(SilentDeath(death.death, losses: [:]).diagnosis == death.diagnosis)
    }
  }

  @Test("a process that is killed after a survived crash gets a second report; a fatal crash has only one")
  func afterCrash() throws {
    let death = try #require(try death(.status(SIGKILL), hasCrashed: true))
    #expect(death.diagnosis.cause == "killed")
    #expect(death.diagnosis.sentence == "Killed (SIGKILL from outside), after it had crashed.")
    #expect(SilentDeath(death.death, losses: [:]).diagnosis == death.diagnosis)
    for end in [ProcessEnd.goesOn, .unknown, .status(0), .status(SIGTERM), .status(SIGSEGV), .status(SIGABRT | 0x80)] {
      #expect(try self.death(end, losses: ["torn": 1], hasCrashed: true) == nil, "\(end)")
    }
  }
}

extension MemoryShare {
  static func none(in group: String) -> MemoryShare { MemoryShare(cgroup: group, kills: 0) }
  static var victim: MemoryShare { MemoryShare(cgroup: "/app", kills: 1, isVictim: true) }
  static func shared(isVictim: Bool) -> MemoryShare {
    MemoryShare(cgroup: "/app", kills: 1, candidates: 2, isVictim: isVictim)
  }
}

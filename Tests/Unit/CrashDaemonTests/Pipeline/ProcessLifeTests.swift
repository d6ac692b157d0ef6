import CrashRing
import Glibc
import Testing

@testable import CrashDaemon

struct ProcessLifeTests {
  private let seen = CrashAnalysis.Seen(.sample([.sample(pc: 0x1010)]))

  private func life() throws -> ProcessLife {
    let source = try RingSource(memory: TestRing().memory())
    let facts = ProcessFacts(source.contents(), peer: Peer(pid: 4711, uid: 1_000), unit: nil)
    return ProcessLife(process: AttachedProcess(number: 4, facts: facts, ring: source))
  }

  private func announce(_ life: inout ProcessLife, isClosed: Bool = false) -> ProcessLife.Announcement {
    life.announce(isClosed: isClosed, emptyWakesLimit: 2)
  }

  @Test("one turn handles all events that arrived before it; a second turn handles those that arrived during it")
  func turns() throws {
    var life = try life()
    #expect(life.isSettled)
    var announcements = [announce(&life), announce(&life)]
    #expect(announcements == [.begins, .joins] && life.turn == .queued && !life.isSettled)
    life.takeTurn()
    announcements = [announce(&life), announce(&life)]
    #expect(announcements == [.joins, .joins] && life.turn == .readingAndDue)
    var isDue = life.finishTurn()
    #expect(isDue && life.turn == .queued)
    life.takeTurn()
    isDue = life.finishTurn()
    #expect(!isDue && life.turn == .idle && life.isSettled)
  }

  @Test("a process with a closed socket is finished when its record is read or its exit status is known")
  func settled() throws {
    var life = try life()
    _ = announce(&life, isClosed: true)
    life.takeTurn()
    life.noteReading(.nothingNew, isFinal: true)
    _ = life.finishTurn()
    #expect(life.ring == .read && !life.hasCrashed && !life.isSettled)
    let announcement = life.noteEnd(EndedProcess(process: life.process, end: .status(0)))
    #expect(announcement == .begins)
    life.takeTurn()
    _ = life.finishTurn()
    #expect(life.isSettled && !life.isDone)
    life = try self.life()
    _ = announce(&life, isClosed: true)
    life.takeTurn()
    life.noteReading(.stored(id: "aa", seen: seen), isFinal: true)
    _ = life.finishTurn()
    #expect(life.hasCrashed && life.isSettled && !life.isDone)
    _ = life.noteEnd(EndedProcess(process: life.process, end: .status(SIGILL)))
    #expect(life.isDone)
  }

  @Test("crashd ignores wake-ups after several without new records, but still reads the ring at the process's end")
  func emptyWakes() throws {
    var life = try life()
    for _ in 0..<2 {
      _ = announce(&life)
      life.takeTurn()
      life.noteReading(.nothingNew, isFinal: false)
      _ = life.finishTurn()
    }
    var announcement = announce(&life)
    #expect(announcement == .isIgnored && life.isSettled)
    announcement = announce(&life, isClosed: true)
    #expect(announcement == .begins)
  }

  @Test(
    "crashd forgets an ended process only when its report is in the store",
    arguments: [(ProcessLife.Crash.stored, true), (.held, false), (.failed, false)])
  func outcomes(crash: ProcessLife.Crash, isDone: Bool) throws {
    var life = try life()
    let outcome: CrashAnalysis.Outcome =
      switch crash {
      case .stored: .stored(id: "aa", seen: seen)
      case .held: .held(id: "aa", seen: seen)
      case .failed, .none: .failed
      }
    life.noteReading(outcome, isFinal: true)
    life.noteReading(.nothingNew, isFinal: true)
    life.noteSilentDeath(.stored(id: "bb", seen: seen))
    _ = life.noteEnd(EndedProcess(process: life.process, end: .status(SIGILL)))
    #expect(life.crash == crash && life.isDone == isDone)
    #expect(life.reports == (crash == .failed ? ["bb"] : ["aa", "bb"]))
  }
}

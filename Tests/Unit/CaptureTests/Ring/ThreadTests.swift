import CShimRing
import CrashRing
import Testing

@Suite("Threads that did not crash")
struct ThreadTests {
  @Test("the threads of a thread sweep are read in the order of the sweep, with their frames and images")
  func threads() throws {
    let ring = TestRing()
    ring.addImage(0, start: 0x40_0000, path: "/srv/shop")
    ring.addThread(0, tid: 11, name: "loop", frames: [cs_ring_frame(0x40_0010, flags: 1, trust: 1)])
    ring.addThread(1, tid: 12, answer: .CS_RING_ANSWER_BLOCKED, runState: "S")
    ring.addThread(2, tid: 13, answer: .CS_RING_ANSWER_NONE, runState: "R")
    let contents = try ring.contents()
    #expect(contents.losses.isEmpty)
    #expect(contents.threads.map(\.tid) == [11, 12, 13])
    #expect(contents.threads.map(\.answer) == [.whole, .blocked, .none])
    #expect(contents.threads.map(\.runState) == ["", "S", "R"])
    let first = try #require(contents.threads.first)
    #expect(first.name == "loop")
    #expect(first.frames.map(\.pc) == [0x40_0010])
    #expect(first.frames.first?.image == 0)
    #expect(first.frames.first?.isExact == true)
  }

  @Test("swept threads with unfinished or missing answers are counted")
  func losses() throws {
    let ring = TestRing()
    ring.addThread(0, tid: 11)
    ring.addThread(1, tid: 12)
    ring.set(\cs_ring_thread.state, at: TestRing.thread(0), UInt64(CS_RING_STATE_ASKED))
    ring.set(\cs_ring_header.thread_total, at: 0, 7)
    let contents = try ring.contents()
    #expect(contents.threads.map(\.tid) == [12])
    #expect(contents.losses == ["silentThreads": 1, "threads": 5])
  }

  @Test("threads of the sweep of a survived crash are not read as threads of the latest crash")
  func survived() throws {
    let ring = TestRing()
    ring.addThread(0, tid: 11)
    ring.addThread(1, tid: 12)
    ring.set(\cs_ring_header.survived, at: 0, 5)
    #expect(try ring.contents().threads.isEmpty)
    ring.set(\cs_ring_thread.state, at: TestRing.thread(0), 5 << 2 | UInt64(CS_RING_STATE_COMMITTED))
    let contents = try ring.contents()
    #expect(contents.survived == 5)
    #expect(contents.threads.map(\.tid) == [11])
    #expect(contents.losses == ["silentThreads": 1])
  }

  @Test("if the sweep could not list the threads, their number is read as unknown")
  func blind() throws {
    let ring = TestRing()
    ring.set(\cs_ring_header.sweep, at: 0, cs_ring_sweep.CS_RING_SWEEP_BLIND.rawValue)
    let contents = try ring.contents()
    #expect(contents.threads.isEmpty)
    #expect(contents.losses == ["threadList": 1])
  }

  @Test("damaged thread records are counted and not used")
  func damaged() throws {
    let ring = TestRing()
    ring.addThread(0, tid: 11)
    ring.set(\cs_ring_thread_record.tid, at: TestRing.threadRecord(0), 99)
    // In the records of the next threads, a length is invalid, but the CRC is correct.
    ring.addThread(1, tid: 12)
    ring.set(\cs_ring_thread_record.frame_count, at: TestRing.threadRecord(1), 155)
    ring.commit(thread: 1)
    ring.addThread(2, tid: 13)
    ring.set(\cs_ring_thread_record.registers.general_count, at: TestRing.threadRecord(2), UInt64.max)
    ring.commit(thread: 2)
    ring.addThread(3, tid: 14)
    ring.set(\cs_ring_thread_record.frame_head, at: TestRing.threadRecord(3), 1)
    ring.commit(thread: 3)
    let contents = try ring.contents()
    #expect(contents.threads.isEmpty)
    #expect(contents.losses == ["corrupt": 4])
  }

  @Test("a ring has at most as many swept threads as it has entries, even if its count is larger")
  func hostileCount() throws {
    let ring = TestRing()
    ring.set(\cs_ring_header.thread_count, at: 0, UInt32.max)
    ring.set(\cs_ring_header.thread_total, at: 0, UInt32.max)
    let contents = try ring.contents()
    #expect(contents.threads.isEmpty)
    #expect(contents.losses["silentThreads"] == Int(CS_RING_THREAD_LIMIT))
  }
}

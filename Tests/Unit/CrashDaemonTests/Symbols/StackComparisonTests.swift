import CrashReport
@testable import CrashRing
import CrashSymbols
import Testing

@testable import CrashDaemon

@Suite("The handler's stack compared with the cross-check's")
struct StackComparisonTests {
  private typealias Trust = CrashReport.Trust

  private static let stopEnd: UInt32 = 0
  private static let stopNoCaller: UInt32 = 3

  private func record(
    _ frames: [(UInt64, Trust)], async: [UInt64] = [], omitted: Int = 0, head: Int? = nil, stop: UInt32 = stopEnd
  ) -> CrashRecord {
    let list = frames.map { CrashRecord.Frame.found($0.0, $0.1) } + async.map { CrashRecord.Frame.at($0, async: true) }
    var record = CrashRecord.sample(depth: frames.count + omitted, frames: list, unwindStop: stop)
    record.frameHead = head ?? frames.count
    record.frameTotal = frames.count + omitted
    return record
  }

  private func stack(
    _ frames: [(UInt64, UnwindAnswer.Found)], stop: UnwindAnswer.Stop = .end
  ) -> UnwindAnswer.Stack {
    UnwindAnswer.Stack(
      frames: frames.map { UnwindAnswer.Frame(pc: $0.0, functionStart: nil, found: $0.1) }, stop: stop)
  }

  private func compare(_ record: CrashRecord, _ stack: UnwindAnswer.Stack) -> StackComparison {
    StackComparison(record, stack, RingContents.sample([]).images)
  }

  private func words(_ comparison: StackComparison) -> String {
    "\(comparison.agreement.rawValue) \(comparison.shown.rawValue) \(comparison.common)"
  }

  @Test("if the stacks agree, the handler's frames are unchanged, even if async callers follow")
  func equal() {
    let record = record([(0x10010, .context), (0x10020, .cfi)], async: [0x10090])
    let comparison = compare(record, stack([(0x10010, .context), (0x10020, .cfi)]))
    #expect(words(comparison) == "equal handler 2")
    #expect(comparison.better == record)
    #expect(comparison.finding.others.isEmpty)
  }

  @Test("a cross-check that stops at the end of the stack copy leaves the handler's frames")
  func shorter() {
    let record = record([(0x10010, .context), (0x10020, .cfi), (0x10030, .cfi)])
    let comparison = compare(record, stack([(0x10010, .context), (0x10020, .cfi)], stop: .noCaller))
    #expect(words(comparison) == "shorter handler 2")
    #expect(comparison.finding.others.isEmpty)
  }

  @Test("stacks of a deep recursion are compared up to the gap")
  func gap() {
    let record = record(
      [(0x10010, .context), (0x10020, .cfi), (0x10080, .cfi)], omitted: 900, head: 2)
    let long = stack([(0x10010, .context), (0x10020, .cfi), (0x10020, .cfi)])
    #expect(words(compare(record, long)) == "shorter handler 2")
    #expect(words(compare(record, stack([(0x10010, .context), (0x10020, .cfi)]))) == "shorter handler 2")
  }

  @Test("a longer cross-check adds its frames where the handler stopped early")
  func longer() {
    let record = record([(0x10010, .context), (0x10020, .cfi)], async: [0x10090], stop: Self.stopNoCaller)
    let found = stack([(0x10010, .context), (0x10020, .cfi), (0x10030, .cfi), (0x5, .framePointer)])
    let comparison = compare(record, found)
    #expect(words(comparison) == "longer snapshot 2")
    let better = comparison.better
    #expect(better.frames.map(\.pc) == [0x10010, 0x10020, 0x10030, 0x5, 0x10090])
    #expect(better.frames.map(\.trust) == [.context, .cfi, .cfi, .framePointer, .cfi])
    #expect(better.frames.map(\.image) == [0, 0, 0, nil, 0])
    #expect(better.frames.map(\.isAsync) == [false, false, false, false, true])
    #expect(better.frameTotal == 4 && better.frameHead == 4)
    // Now the handler's unwinder has marked its outermost frame as the end of the stack, so its stack stays.
    let ended = compare(self.record([(0x10010, .context), (0x10020, .cfi)]), found)
    #expect(words(ended) == "longer handler 2")
    #expect(ended.finding.others.map(\.address) == [0x10030, 0x5])
    // The additional frame of the cross-check is only a guess, so it is no improvement.
    let guess = stack([(0x10010, .context), (0x10020, .cfi), (0x10030, .framePointer)])
    #expect(words(compare(record, guess)) == "longer handler 2")
  }

  @Test(
    "if two stacks differ, the report shows the one with unwind tables, and the other one as the alternative",
    arguments: [(Trust.framePointer, "snapshot"), (.scan, "snapshot"), (.cfi, "handler")])
  func different(trust: CrashReport.Trust, shown: String) {
    let record = record([(0x10010, .context), (0x10020, trust), (0x10030, .cfi)])
    let comparison = compare(record, stack([(0x10010, .context), (0x10040, .cfi), (0x10030, .cfi)]))
    #expect(words(comparison) == "different \(shown) 1")
    let others: [Address] = shown == "handler" ? [0x10040, 0x10030] : [0x10020]
    #expect(comparison.finding.others.map(\.address) == others)
    #expect(comparison.better.frames[1].pc == (shown == "handler" ? 0x10020 : 0x10040))
    let guess = compare(record, stack([(0x10010, .context), (0x10040, .framePointer)]))
    #expect(words(guess) == (trust == .cfi ? "shorter handler 1" : "different handler 1"))
  }

  @Test("stacks that differ and then meet again keep the handler's frames from the meeting point on")
  func meeting() {
    let record = record([
      (0x10010, .context), (0x10020, .framePointer), (0x10030, .cfi), (0x10050, .cfi), (0x10060, .framePointer),
    ])
    let short = stack([(0x10010, .context), (0x10015, .cfi), (0x10018, .cfi), (0x10030, .cfi)], stop: .noCaller)
    let comparison = compare(record, short)
    #expect(words(comparison) == "different snapshot 1")
    #expect(comparison.better.frames.map(\.pc) == [0x10010, 0x10015, 0x10018, 0x10030, 0x10050, 0x10060])
    #expect(comparison.better.frames.map(\.trust) == [.context, .cfi, .cfi, .cfi, .cfi, .framePointer])
    #expect(comparison.better.frameTotal == 6 && comparison.better.frameHead == 6)
    #expect(comparison.finding.others.map(\.address) == [0x10020])
    // Here the handler's unwinder skipped the caller 0x10015. The comparison only adds this frame.
    let skipped = compare(record, stack([(0x10010, .context), (0x10015, .cfi), (0x10020, .cfi)], stop: .noCaller))
    #expect(skipped.better.frames.map(\.pc) == [0x10010, 0x10015] + record.frames.dropFirst().map(\.pc))
    #expect(skipped.finding.others.isEmpty)
  }

  @Test("stacks that meet again before the gap of a deep recursion keep the frames after the gap")
  func meetingBeforeGap() {
    let record = record(
      [(0x10010, .context), (0x10020, .framePointer), (0x10030, .cfi), (0x10080, .cfi)], omitted: 900, head: 3)
    let better = compare(record, stack([(0x10010, .context), (0x10015, .cfi), (0x10018, .cfi), (0x10030, .cfi)])).better
    #expect(better.frames.map(\.pc) == [0x10010, 0x10015, 0x10018, 0x10030, 0x10080])
    #expect(better.frameHead == 4 && better.frameTotal == 905)
    #expect(
      words(compare(record, stack([(0x10010, .context)] + Array(repeating: (0x10018, .cfi), count: 9))))
        == "different handler 1")
  }

  @Test("a short cross-check that never meets the handler's stack leaves the handler's frames", arguments: [1, 2, 3])
  func short(count: Int) {
    let record = record([(0x10010, .context), (0x10020, .scan), (0x10030, .cfi), (0x10050, .cfi)])
    let others = (0..<count).map { (UInt64(0x10040 + $0), UnwindAnswer.Found.cfi) }
    let comparison = compare(record, stack([(0x10010, .context)] + others, stop: .noCaller))
    // Only a cross-check with as many frames as the handler's stack counts as complete, and replaces it.
    #expect(words(comparison) == "different \(count == 3 ? "snapshot" : "handler") 1")
    #expect(comparison.better.frames.count == 4)
  }

  @Test("a cross-check with an address outside all images leaves the handler's frames")
  func noImage() {
    let guess = record([(0x10010, .context), (0x10020, .scan)])
    #expect(words(compare(guess, stack([(0x10010, .context), (0x5, .cfi)]))) == "different handler 1")
    let early = record([(0x10010, .context)], stop: Self.stopNoCaller)
    #expect(words(compare(early, stack([(0x10010, .context), (0x5, .cfi)]))) == "longer handler 1")
  }

  @Test("an empty cross-check leaves the handler's frames, and the list of differing frames is bounded")
  func bounds() {
    #expect(words(compare(record([(0x10010, .context)]), stack([]))) == "shorter handler 0")
    #expect(words(compare(record([]), stack([]))) == "equal handler 0")
    let many = (0..<500).map { (UInt64(0x10100 + $0), UnwindAnswer.Found.cfi) }
    #expect(compare(record([(0x10010, .cfi)]), stack(many)).finding.others.count == 32)
  }
}

extension CrashRecord.Frame {
  fileprivate static func found(_ pc: UInt64, _ trust: CrashReport.Trust) -> CrashRecord.Frame {
    CrashRecord.Frame(pc: pc, functionStart: nil, trust: trust, isExact: false, isAsync: false, image: 0)
  }
}

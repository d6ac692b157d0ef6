import CrashReport
import CrashRing
import CrashUnwinding
import Testing

@testable import CrashDaemon

@Suite("Two unwindings of one stack")
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

  private func words(_ comparison: StackComparison) -> String {
    "\(comparison.agreement.rawValue) \(comparison.shown.rawValue) \(comparison.common)"
  }

  @Test("that agree leave the handler's, whatever follows in the task's chain")
  func equal() {
    let record = record([(0x10010, .context), (0x10020, .cfi)], async: [0x10090])
    let comparison = StackComparison(record, stack([(0x10010, .context), (0x10020, .cfi)]))
    #expect(words(comparison) == "equal handler 2")
    #expect(comparison.better(in: []) == record)
    #expect(comparison.finding.others.isEmpty)
  }

  @Test("where the copy of the stack ends early leave the handler's")
  func shorter() {
    let record = record([(0x10010, .context), (0x10020, .cfi), (0x10030, .cfi)])
    let comparison = StackComparison(record, stack([(0x10010, .context), (0x10020, .cfi)], stop: .noCaller))
    #expect(words(comparison) == "shorter handler 2")
    #expect(comparison.finding.others.isEmpty)
  }

  @Test("of a deep recursion are compared up to the gap")
  func gap() {
    let record = record(
      [(0x10010, .context), (0x10020, .cfi), (0x10080, .cfi)], omitted: 900, head: 2)
    let long = stack([(0x10010, .context), (0x10020, .cfi), (0x10020, .cfi)])
    #expect(words(StackComparison(record, long)) == "shorter handler 2")
    #expect(words(StackComparison(record, stack([(0x10010, .context), (0x10020, .cfi)]))) == "shorter handler 2")
  }

  @Test("where the handler stopped early show the frames that the tables gave")
  func longer() {
    let record = record([(0x10010, .context), (0x10020, .cfi)], async: [0x10090], stop: Self.stopNoCaller)
    let images = RingContents.sample([]).images
    let found = stack([(0x10010, .context), (0x10020, .cfi), (0x10030, .cfi), (0x5, .framePointer)])
    let comparison = StackComparison(record, found)
    #expect(words(comparison) == "longer snapshot 2")
    let better = comparison.better(in: images)
    #expect(better.frames.map(\.pc) == [0x10010, 0x10020, 0x10030, 0x5, 0x10090])
    #expect(better.frames.map(\.trust) == [.context, .cfi, .cfi, .framePointer, .cfi])
    #expect(better.frames.map(\.image) == [0, 0, 0, nil, 0])
    #expect(better.frames.map(\.isAsync) == [false, false, false, false, true])
    #expect(better.frameTotal == 4 && better.frameHead == 4)
    // The outermost frame had said that it was the last.
    let ended = StackComparison(self.record([(0x10010, .context), (0x10020, .cfi)]), found)
    #expect(words(ended) == "longer handler 2")
    #expect(ended.finding.others.map(\.address) == [0x10030, 0x5])
    // And more guesses are no better.
    let guess = stack([(0x10010, .context), (0x10020, .cfi), (0x10030, .framePointer)])
    #expect(words(StackComparison(record, guess)) == "longer handler 2")
  }

  @Test(
    "that differ show the one with tables, and the other beside it",
    arguments: [(Trust.framePointer, "snapshot"), (.scan, "snapshot"), (.cfi, "handler")])
  func different(trust: CrashReport.Trust, shown: String) {
    let record = record([(0x10010, .context), (0x10020, trust), (0x10030, .cfi)])
    let comparison = StackComparison(record, stack([(0x10010, .context), (0x10040, .cfi), (0x10030, .cfi)]))
    #expect(words(comparison) == "different \(shown) 1")
    let others: [Address] = shown == "handler" ? [0x10040, 0x10030] : [0x10020, 0x10030]
    #expect(comparison.finding.others.map(\.address) == others)
    #expect(comparison.better(in: []).frames[1].pc == (shown == "handler" ? 0x10020 : 0x10040))
    let guess = StackComparison(record, stack([(0x10010, .context), (0x10040, .framePointer)]))
    #expect(words(guess) == "different handler 1")
  }

  @Test("that found nothing leave the handler's, and what is told of others has a bound")
  func bounds() {
    #expect(words(StackComparison(record([(0x10010, .context)]), stack([]))) == "shorter handler 0")
    #expect(words(StackComparison(record([]), stack([]))) == "equal handler 0")
    let many = (0..<500).map { (UInt64(0x10100 + $0), UnwindAnswer.Found.cfi) }
    #expect(StackComparison(record([(0x10010, .cfi)]), stack(many)).finding.others.count == 32)
  }
}

extension CrashRecord.Frame {
  fileprivate static func found(_ pc: UInt64, _ trust: CrashReport.Trust) -> CrashRecord.Frame {
    CrashRecord.Frame(pc: pc, functionStart: nil, trust: trust, isExact: false, isAsync: false, image: 0)
  }
}

import CrashReport
import CrashRing
import CrashUnwinding

/// Two unwindings of one thread, and which of them to believe: a pure function of both.
///
/// The handler walks with the tables of the process itself and reads all of its memory; libunwind is other code, with a
/// copy of the stack that ends at 64 KiB. So the handler's frames stay, unless it had lost the tables where the other had
/// them: there it has guessed.
struct StackComparison {
  let agreement: CrashReport.Unwinding.Agreement
  let shown: CrashReport.Unwinding.Source
  /// Frames that both have, from the innermost.
  let common: Int

  private let record: CrashRecord
  private let snapshot: UnwindAnswer.Stack
  private static let otherFrameLimit = 32
  /// `CS_UNWIND_STOP_END`: the outermost frame said so.
  private static let stopEnd: UInt32 = 0

  init(_ record: CrashRecord, _ snapshot: UnwindAnswer.Stack) {
    self.record = record
    self.snapshot = snapshot
    let (walked, hasGap) = Self.walked(record)
    let common = zip(walked, snapshot.frames).prefix { $0.pc == $1.pc }.count
    self.common = common
    switch (common == walked.count, common == snapshot.frames.count) {
    case (true, true): (agreement, shown) = (hasGap ? .shorter : .equal, .handler)
    case (false, true): (agreement, shown) = (.shorter, .handler)
    // Behind the gap of a deep recursion nothing can be compared.
    case (true, false) where hasGap: (agreement, shown) = (.shorter, .handler)
    case (true, false):
      let isBetter = record.unwindStop != Self.stopEnd && snapshot.frames[common].found == .cfi
      (agreement, shown) = (.longer, isBetter ? .snapshot : .handler)
    case (false, false):
      let hasGuessed = [.framePointer, .scan].contains(walked[common].trust)
      (agreement, shown) = (.different, hasGuessed && snapshot.frames[common].found == .cfi ? .snapshot : .handler)
    }
  }

  /// The frames of the handler that stand in one piece from the innermost on, and whether others follow behind a gap.
  private static func walked(_ record: CrashRecord) -> (frames: [CrashRecord.Frame], hasGap: Bool) {
    let frames = record.frames.filter { !$0.isAsync }
    guard record.frameTotal > frames.count else { return (frames, false) }
    return (Array(frames.prefix(record.frameHead)), true)
  }

  /// What the report says of it.
  var finding: CrashReport.Unwinding {
    var others: [CrashReport.Unwinding.OtherFrame] = []
    if agreement == .different || agreement == .longer {
      others =
        shown == .handler
        ? snapshot.frames.dropFirst(common).map { .init(address: Address($0.pc), trust: Self.trust($0)) }
        : Self.walked(record).frames.dropFirst(common).map { .init(address: Address($0.pc), trust: $0.trust) }
    }
    return CrashReport.Unwinding(
      tid: Int(record.tid), agreement: agreement, shown: shown, common: common, found: snapshot.frames.count,
      others: Array(others.prefix(Self.otherFrameLimit)))
  }

  /// The record with the better frames; the async callers, which stand on no stack, stay.
  func better(in images: [RingContents.Image]) -> CrashRecord {
    guard shown == .snapshot else { return record }
    let new = snapshot.frames.dropFirst(common).map { frame in
      CrashRecord.Frame(
        pc: frame.pc, functionStart: frame.functionStart, trust: Self.trust(frame), isExact: false, isAsync: false,
        image: images.first { $0.start < frame.pc && frame.pc <= $0.end }?.index)
    }
    var record = record
    let kept = Self.walked(record).frames.prefix(common)
    record.frames = kept + new + record.frames.filter(\.isAsync)
    record.frameTotal = kept.count + new.count
    record.frameHead = record.frameTotal
    return record
  }

  private static func trust(_ frame: UnwindAnswer.Frame) -> CrashReport.Trust {
    switch frame.found {
    case .context: .context
    case .cfi: .cfi
    case .framePointer: .framePointer
    case .scan: .scan
    }
  }
}

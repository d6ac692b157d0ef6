import CrashReport
import CrashRing
import CrashSymbols

/// Compares two stacks of one thread, and chooses the frames to show: a pure function of both.
///
/// The handler unwinds with the tables of the process itself and reads all of its memory. libunwind is other code, with
/// a copy of the stack that ends at 64 KiB. So the handler's frames stay, unless it had lost the tables where libunwind
/// had them: from there it only guessed. libunwind's frames replace the guessed ones up to the frame where both stacks
/// meet; from there the handler's frames stay. If they do not meet, libunwind's stack must be at least as long: a
/// complete stack is not replaced for a few frames.
struct StackComparison {
  let agreement: CrashReport.Unwinding.Agreement
  let shown: CrashReport.Unwinding.Source
  /// Frames that both have, from the innermost.
  let common: Int

  /// Where the two meet again: indices in the snapshot's frames and in the handler's.
  private let meeting: (snapshot: Int, handler: Int)?
  private let record: CrashRecord
  private let snapshot: UnwindAnswer.Stack
  private let images: [RingContents.Image]
  private static let otherFrameLimit = 32
  /// `CS_UNWIND_STOP_END`: the tables mark the outermost frame.
  private static let stopEnd: UInt32 = 0

  init(_ record: CrashRecord, _ snapshot: UnwindAnswer.Stack, _ images: [RingContents.Image]) {
    self.record = record
    self.snapshot = snapshot
    self.images = images
    let (walked, hasGap) = Self.walked(record)
    let common = zip(walked, snapshot.frames).prefix { $0.pc == $1.pc }.count
    self.common = common
    let rest = snapshot.frames.dropFirst(common)
    // After stack smashing, even frames from tables may not be code.
    let isFound = rest.first.map { $0.found == .cfi && Self.image(of: $0.pc, in: images) != nil } ?? false
    var meeting: (snapshot: Int, handler: Int)?
    switch (common == walked.count, rest.isEmpty) {
    case (true, true): (agreement, shown) = (hasGap ? .shorter : .equal, .handler)
    case (false, true): (agreement, shown) = (.shorter, .handler)
    // Nothing can be compared after the gap of a deep recursion.
    case (true, false) where hasGap: (agreement, shown) = (.shorter, .handler)
    case (true, false):
      (agreement, shown) = (.longer, isFound && record.unwindStop != Self.stopEnd ? .snapshot : .handler)
    case (false, false):
      meeting = Self.meeting(walked, snapshot.frames, from: common)
      let isWhole = meeting != nil || (!hasGap && snapshot.frames.count >= walked.count)
      let hasGuessed = [.framePointer, .scan].contains(walked[common].trust)
      // Without the handler's tables libunwind only guesses, which is no contradiction.
      let isGuess = walked[common].trust == .cfi && rest.first?.found != .cfi
      agreement = isGuess ? .shorter : .different
      shown = hasGuessed && isFound && isWhole ? .snapshot : .handler
    }
    self.meeting = shown == .snapshot ? meeting : nil
  }

  /// The first frame of the snapshot after the difference that the handler has too.
  private static func meeting(
    _ walked: [CrashRecord.Frame], _ frames: [UnwindAnswer.Frame], from common: Int
  ) -> (snapshot: Int, handler: Int)? {
    var places: [UInt64: Int] = [:]
    for index in walked.indices.dropFirst(common).reversed() { places[walked[index].pc] = index }
    for index in frames.indices.dropFirst(common) {
      if let place = places[frames[index].pc] { return (index, place) }
    }
    return nil
  }

  private static func image(of pc: UInt64, in images: [RingContents.Image]) -> Int? {
    images.first { $0.start < pc && pc <= $0.end }?.index
  }

  /// The handler's contiguous frames from the innermost on, and whether others follow after a gap.
  private static func walked(_ record: CrashRecord) -> (frames: [CrashRecord.Frame], hasGap: Bool) {
    let frames = record.frames.filter { !$0.isAsync }
    guard record.frameTotal > frames.count else { return (frames, false) }
    return (Array(frames.prefix(record.frameHead)), true)
  }

  /// The finding for the report.
  var finding: CrashReport.Unwinding {
    var others: [CrashReport.Unwinding.OtherFrame] = []
    if agreement == .different || agreement == .longer {
      let walked = Self.walked(record).frames
      others =
        shown == .handler
        ? snapshot.frames.dropFirst(common).map { .init(address: Address($0.pc), trust: Self.trust($0)) }
        : walked.prefix(meeting?.handler ?? walked.count).dropFirst(common)
          .map { .init(address: Address($0.pc), trust: $0.trust) }
    }
    return CrashReport.Unwinding(
      tid: Int(record.tid), agreement: agreement, shown: shown, common: common, found: snapshot.frames.count,
      others: Array(others.prefix(Self.otherFrameLimit)))
  }

  /// The record with the better frames.
  ///
  /// Async callers stay, because no stack holds them.
  var better: CrashRecord {
    guard shown == .snapshot else { return record }
    let new = snapshot.frames.prefix(meeting?.snapshot ?? snapshot.frames.count).dropFirst(common).map { frame in
      CrashRecord.Frame(
        pc: frame.pc, functionStart: frame.functionStart, trust: Self.trust(frame), isExact: false, isAsync: false,
        image: Self.image(of: frame.pc, in: images))
    }
    let frames = record.frames.filter { !$0.isAsync }
    let replaced = (meeting?.handler ?? frames.count) - common
    var record = record
    record.frames = frames.prefix(common) + new + frames.dropFirst(common + replaced) + record.frames.filter(\.isAsync)
    // A deep recursion omits frames only after the point where the two have met.
    let total = max(record.frameTotal, frames.count)
    record.frameTotal = total - replaced + new.count
    record.frameHead = total > frames.count ? record.frameHead - replaced + new.count : record.frameTotal
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

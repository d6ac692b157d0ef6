import CrashReport
import CrashRing
import CrashSymbols

/// Compares the stack that the signal handler found with the stack that libunwind found, and chooses the frames for the
/// report.
///
/// The result depends only on these two stacks.
///
/// The signal handler unwinds with the tables in the process's memory, and can read all memory of the process.
/// libunwind is independent code, but its copy of the stack ends at 64 KiB. Therefore, the report usually contains the
/// handler's frames. There is one exception. If the handler had no tables for a function but libunwind had some, the
/// handler only guessed the next frames. In this case, libunwind's frames replace the guessed frames, up to the first
/// frame that both stacks contain. After this common frame, the report contains the handler's frames. If the stacks
/// have no common frame after the guessed frames, libunwind's stack must be at least as long as the handler's stack.
/// Otherwise, a few frames could replace a complete stack.
struct StackComparison {
  let agreement: CrashReport.Unwinding.Agreement
  let shown: CrashReport.Unwinding.Source
  /// The number of equal frames at the start (innermost end) of both stacks.
  let common: Int

  /// After the first difference, the first frame that both stacks contain: its index in libunwind's frames (`snapshot`)
  /// and its index in the handler's frames.
  private let meeting: (snapshot: Int, handler: Int)?
  private let record: CrashRecord
  private let snapshot: UnwindAnswer.Stack
  private let images: [RingContents.Image]
  private static let otherFrameLimit = 32
  /// The value of `CS_UNWIND_STOP_END`, which means that the unwind tables mark the last frame as the outermost frame.
  private static let stopEnd: UInt32 = 0

  init(_ record: CrashRecord, _ snapshot: UnwindAnswer.Stack, _ images: [RingContents.Image]) {
    self.record = record
    self.snapshot = snapshot
    self.images = images
    let (walked, hasGap) = Self.walked(record)
    let common = zip(walked, snapshot.frames).prefix { $0.pc == $1.pc }.count
    self.common = common
    let rest = snapshot.frames.dropFirst(common)
    // Require that the return address points into an image. If the stack was overwritten, even a return address that
    // was found with unwind tables does not necessarily point to code.
    let isFound = rest.first.map { $0.found == .cfi && Self.image(of: $0.pc, in: images) != nil } ?? false
    var meeting: (snapshot: Int, handler: Int)?
    switch (common == walked.count, rest.isEmpty) {
    case (true, true): (agreement, shown) = (hasGap ? .shorter : .equal, .handler)
    case (false, true): (agreement, shown) = (.shorter, .handler)
    // In a deep recursion, the handler omits the middle frames. Frames after this gap cannot be compared with
    // libunwind's frames.
    case (true, false) where hasGap: (agreement, shown) = (.shorter, .handler)
    case (true, false):
      (agreement, shown) = (.longer, isFound && record.unwindStop != Self.stopEnd ? .snapshot : .handler)
    case (false, false):
      meeting = Self.meeting(walked, snapshot.frames, from: common)
      let isWhole = meeting != nil || (!hasGap && snapshot.frames.count >= walked.count)
      let hasGuessed = [.framePointer, .scan].contains(walked[common].trust)
      // If the handler used tables at the first different frame and libunwind had none, libunwind only guessed the
      // frame. A guessed frame is not evidence against the handler's frame.
      let isGuess = walked[common].trust == .cfi && rest.first?.found != .cfi
      agreement = isGuess ? .shorter : .different
      shown = hasGuessed && isFound && isWhole ? .snapshot : .handler
    }
    self.meeting = shown == .snapshot ? meeting : nil
  }

  /// Returns `meeting`: after the first difference, the indexes of the first frame that both stacks contain.
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

  /// Returns the handler's frames before the gap that the handler leaves in a deep recursion, and whether more frames
  /// follow after the gap.
  private static func walked(_ record: CrashRecord) -> (frames: [CrashRecord.Frame], hasGap: Bool) {
    let frames = record.frames.filter { !$0.isAsync }
    guard record.frameTotal > frames.count else { return (frames, false) }
    return (Array(frames.prefix(record.frameHead)), true)
  }

  /// The result of the comparison for the report.
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

  /// The crash record, with the chosen frames.
  ///
  /// The record keeps the frames of async callers, because these callers are on neither of the two stacks.
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
    // In a deep recursion, the frames that the record omits come after the replaced frames.
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

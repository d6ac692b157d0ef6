/// Determines the rows in which the stack of a thread is shown.
///
/// Runtime frames and repetitions are folded, so that in-app frames stand out.
struct StackLayout {
  /// A row in the shown stack.
  ///
  /// The numbers in a row are indices into the thread's frames.
  enum Row: Equatable {
    case frame(Int)
    /// A row for consecutive runtime frames that are folded.
    case folded(Range<Int>)
    /// A row that states that the `period` frames above it are repeated `times` more times.
    case repeated(period: Int, times: Int)
    /// A row for frames in the middle of a deep recursion that were not recorded.
    case gap(Int)
    /// The heading above the async callers.
    case awaitedBy
  }

  private(set) var rows: [Row] = []
  private let frames: [CrashReport.Frame]
  /// Whether runtime frames are folded.
  ///
  /// Runtime frames are not folded if the thread has no in-app frame, because no frame could then stand out.
  private let folds: Bool
  private let collapses: Bool

  /// Determines the rows for a thread.
  init(_ thread: CrashReport.CrashedThread, verbose: Bool) {
    frames = thread.frames
    folds = !verbose && thread.frames.contains(where: \.isOwn)
    collapses = !verbose

    let stackEnd = frames.firstIndex(where: \.isAsync) ?? frames.count
    if let omitted = thread.framesOmitted, omitted > 0 {
      let gap = min(max(thread.framesBeforeGap ?? stackEnd, 0), stackEnd)
      addFrames(0..<gap)
      rows.append(.gap(omitted))
      addFrames(gap..<stackEnd)
    } else {
      addFrames(0..<stackEnd)
    }
    if stackEnd < frames.count {
      rows.append(.awaitedBy)
      addFrames(stackEnd..<frames.count)
    }
  }

  private mutating func addFrames(_ range: Range<Int>) {
    var index = range.lowerBound
    var pending = index
    while index < range.upperBound {
      guard collapses, let (period, times) = repetition(at: index, in: range) else {
        index += 1
        continue
      }
      addFolding(pending..<index + period)
      rows.append(.repeated(period: period, times: times - 1))
      index += period * times
      pending = index
    }
    addFolding(pending..<range.upperBound)
  }

  /// Returns the shortest sequence of frames that begins at `index` and occurs at least three times in a row.
  private func repetition(at index: Int, in range: Range<Int>) -> (period: Int, times: Int)? {
    for period in 1...8 {
      var end = index + period
      while end < range.upperBound && isSame(frames[end], frames[end - period]) { end += 1 }
      let times = (end - index) / period
      if times >= 3 { return (period, times) }
    }
    return nil
  }

  private func isSame(_ left: CrashReport.Frame, _ right: CrashReport.Frame) -> Bool {
    left.address == right.address && left.function == right.function && left.isInline == right.isInline
  }

  private mutating func addFolding(_ range: Range<Int>) {
    var index = range.lowerBound
    while index < range.upperBound {
      var end = index
      while folds && end < range.upperBound && !frames[end].isOwn { end += 1 }
      if end - index >= 2 {
        rows.append(.folded(index..<end))
        index = end
      } else {
        rows.append(.frame(index))
        index += 1
      }
    }
  }
}

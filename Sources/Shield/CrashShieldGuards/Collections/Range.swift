internal import CrashShield

extension BidirectionalCollection {
  /// The part of the collection that is in the range; what is outside is recorded as `range`.
  ///
  /// In place of `self[range]`, which ends the process. The result is empty where nothing of the range is inside.
  /// `off` and `observe`: as the plain subscript.
  @inlinable
  public subscript(
    shielded range: Range<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.upperBound <= endIndex { return self[range] }
    guard handleRangeFault(range.lowerBound, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(range.lowerBound, range.upperBound)]
  }

  /// The part of the collection that is in the range; what is outside is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: ClosedRange<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.upperBound < endIndex { return self[range] }
    guard handleRangeFault(range.lowerBound, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(range.lowerBound, after(range.upperBound))]
  }

  /// The part of the collection from there on; what is outside is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: PartialRangeFrom<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.lowerBound <= endIndex { return self[range.lowerBound..<endIndex] }
    guard handleRangeFault(range.lowerBound, nil, fileID, line) else { return self[range] }
    return self[clamped(range.lowerBound, endIndex)]
  }

  /// The part of the collection before there; what is outside is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: PartialRangeUpTo<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.upperBound >= startIndex && range.upperBound <= endIndex { return self[startIndex..<range.upperBound] }
    guard handleRangeFault(nil, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(startIndex, range.upperBound)]
  }

  /// The part of the collection up to and with there; what is outside is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: PartialRangeThrough<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.upperBound >= startIndex && range.upperBound < endIndex { return self[range] }
    guard handleRangeFault(nil, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(startIndex, after(range.upperBound))]
  }

  /// The part of the collection between two positions; what is outside, and bounds the wrong way round, are recorded as
  /// `range`.
  ///
  /// In place of `self[lower..<upper]`, where `lower..<upper` alone may end the process.
  @inlinable
  public subscript(
    shieldedBounds lower: Index, _ upper: Index, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if lower >= startIndex && lower <= upper && upper <= endIndex { return self[lower..<upper] }
    guard handleRangeFault(lower, upper, fileID, line) else { return self[lower..<upper] }
    return self[clamped(lower, upper)]
  }

  /// The part of the collection that the range says, or nil where not all of it is there, which is recorded as `range`.
  @inlinable
  public func shieldedExactly(
    _ range: Range<Index>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> SubSequence? {
    if range.lowerBound >= startIndex && range.upperBound <= endIndex { return self[range] }
    guard handleRangeFault(range.lowerBound, range.upperBound, fileID, line) else { return self[range] }
    return nil
  }

  /// Never computes a position beyond the end: `Int.max + 1` would trap.
  @usableFromInline
  func after(_ position: Index) -> Index {
    position < startIndex ? startIndex : position >= endIndex ? endIndex : index(after: position)
  }

  /// Reversed bounds give an empty range at the first one.
  @usableFromInline
  func clamped(_ lower: Index, _ upper: Index) -> Range<Index> {
    let lower = Swift.min(Swift.max(lower, startIndex), endIndex)
    return lower..<Swift.max(lower, Swift.min(upper, endIndex))
  }
}

extension Range {
  /// A range between two bounds; reversed ones give an empty range at the first one, which is recorded as `range`.
  ///
  /// In place of `lower..<upper`, which ends the process.
  @inlinable
  public init(shieldedBounds lower: Bound, _ upper: Bound, fileID: StaticString = #fileID, line: UInt = #line) {
    if lower <= upper {
      self = lower..<upper
    } else if handleReversedBounds(lower, upper, fileID, line) {
      self = lower..<lower
    } else {
      self = lower..<upper
    }
  }
}

extension ClosedRange {
  /// A range between two bounds; reversed ones give nil, which is recorded as `range`.
  ///
  /// In place of `lower...upper`, which ends the process.
  @inlinable
  public init?(shieldedBounds lower: Bound, _ upper: Bound, fileID: StaticString = #fileID, line: UInt = #line) {
    if lower <= upper {
      self = lower...upper
    } else if handleReversedBounds(lower, upper, fileID, line) {
      return nil
    } else {
      self = lower...upper
    }
  }
}

@inline(never)
@usableFromInline
func handleReversedBounds<Bound>(_ lower: Bound, _ upper: Bound, _ fileID: StaticString, _ line: UInt) -> Bool {
  Shield.handleFault(.range, at: ShieldSite(fileID: fileID, line: line)) {
    "\(described(lower)) is above \(described(upper)), bounds of \(Bound.self)"
  }
}

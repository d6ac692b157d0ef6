internal import CrashShield

extension BidirectionalCollection {
  /// The elements of the range that are in the collection; an out-of-bounds range is recorded as `range`.
  ///
  /// Replaces `self[range]`, which ends the process in this case. The result is empty if the whole range is out of
  /// bounds. Under `off` and `observe`, the guard behaves like the plain subscript.
  @inlinable
  public subscript(
    shielded range: Range<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.upperBound <= endIndex { return self[range] }
    guard handleRangeFault(range.lowerBound, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(range.lowerBound, range.upperBound)]
  }

  /// The elements of the range that are in the collection; an out-of-bounds range is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: ClosedRange<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.upperBound < endIndex { return self[range] }
    guard handleRangeFault(range.lowerBound, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(range.lowerBound, after(range.upperBound))]
  }

  /// The elements from an index on; an index that is out of bounds is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: PartialRangeFrom<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.lowerBound <= endIndex { return self[range.lowerBound..<endIndex] }
    guard handleRangeFault(range.lowerBound, nil, fileID, line) else { return self[range] }
    return self[clamped(range.lowerBound, endIndex)]
  }

  /// The elements before an index; an index that is out of bounds is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: PartialRangeUpTo<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.upperBound >= startIndex && range.upperBound <= endIndex { return self[startIndex..<range.upperBound] }
    guard handleRangeFault(nil, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(startIndex, range.upperBound)]
  }

  /// The elements up to and including an index; an index that is out of bounds is recorded as `range`.
  @inlinable
  public subscript(
    shielded range: PartialRangeThrough<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.upperBound >= startIndex && range.upperBound < endIndex { return self[range] }
    guard handleRangeFault(nil, range.upperBound, fileID, line) else { return self[range] }
    return self[clamped(startIndex, after(range.upperBound))]
  }

  /// The elements between two indices; indices that are out of bounds or in reverse order are recorded as `range`.
  ///
  /// Replaces `self[lower..<upper]`, where `lower..<upper` alone can end the process.
  @inlinable
  public subscript(
    shieldedBounds lower: Index, _ upper: Index, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if lower >= startIndex && lower <= upper && upper <= endIndex { return self[lower..<upper] }
    guard handleRangeFault(lower, upper, fileID, line) else { return self[lower..<upper] }
    return self[clamped(lower, upper)]
  }

  /// Returns the elements of the range; if a part of the range is out of bounds, returns nil and records the fault as
  /// `range`.
  @inlinable
  public func shieldedExactly(
    _ range: Range<Index>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> SubSequence? {
    if range.lowerBound >= startIndex && range.upperBound <= endIndex { return self[range] }
    guard handleRangeFault(range.lowerBound, range.upperBound, fileID, line) else { return self[range] }
    return nil
  }

  /// Returns the index after `position`, limited to the bounds of the collection.
  ///
  /// Compare with the end before adding: `Int.max + 1` would trap.
  @usableFromInline
  func after(_ position: Index) -> Index {
    position < startIndex ? startIndex : position >= endIndex ? endIndex : index(after: position)
  }

  /// Returns the part of the range inside the bounds; if the bounds are in reverse order, returns an empty range at the
  /// first bound.
  @usableFromInline
  func clamped(_ lower: Index, _ upper: Index) -> Range<Index> {
    let lower = Swift.min(Swift.max(lower, startIndex), endIndex)
    return lower..<Swift.max(lower, Swift.min(upper, endIndex))
  }
}

extension Range {
  /// Creates a range; if the bounds are in reverse order, creates an empty range at the first bound and records the
  /// fault as `range`.
  ///
  /// Replaces `lower..<upper`, which ends the process in this case.
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
  /// Creates a range; if the bounds are in reverse order, returns nil and records the fault as `range`.
  ///
  /// Replaces `lower...upper`, which ends the process in this case.
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

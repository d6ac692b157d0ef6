/// Functions that move an index; the plain functions end the process if the result is out of bounds.
extension BidirectionalCollection {
  /// Returns the index after this one; if there is none, returns the end and records the fault as `index`.
  ///
  /// Replaces `index(after:)`, which ends the process, or in an array returns an index past the end. For an index
  /// before the start, the result is the start.
  @inlinable
  public func shieldedIndex(after position: Index, fileID: StaticString = #fileID, line: UInt = #line) -> Index {
    if position >= startIndex && position < endIndex { return index(after: position) }
    guard handleIndexFault(position, fileID, line) else { return index(after: position) }
    return position < startIndex ? startIndex : endIndex
  }

  /// Returns the index before this one; if there is none, returns the start and records the fault as `index`.
  ///
  /// Replaces `index(before:)`. For an index past the end, the result is the end.
  @inlinable
  public func shieldedIndex(before position: Index, fileID: StaticString = #fileID, line: UInt = #line) -> Index {
    if position > startIndex && position <= endIndex { return index(before: position) }
    guard handleIndexFault(position, fileID, line) else { return index(before: position) }
    return position > endIndex ? endIndex : startIndex
  }

  /// Returns the index at a distance from this one; if the result is out of bounds, returns the end or the start and
  /// records the fault as `index`.
  ///
  /// Replaces `index(_:offsetBy:)`.
  @inlinable
  public func shieldedIndex(
    _ position: Index, offsetBy distance: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Index {
    let limit = distance < 0 ? startIndex : endIndex
    if position >= startIndex, position <= endIndex, let found = index(position, offsetBy: distance, limitedBy: limit) {
      return found
    }
    guard handleIndexFault(position, fileID, line) else { return index(position, offsetBy: distance) }
    return limit
  }

  /// Moves to the next index; if there is none, moves to the end and records the fault as `index`.
  ///
  /// Replaces `formIndex(after:)`.
  @inlinable
  public func shieldedFormIndex(after position: inout Index, fileID: StaticString = #fileID, line: UInt = #line) {
    position = shieldedIndex(after: position, fileID: fileID, line: line)
  }

  /// Moves to the previous index; if there is none, moves to the start and records the fault as `index`.
  ///
  /// Replaces `formIndex(before:)`.
  @inlinable
  public func shieldedFormIndex(before position: inout Index, fileID: StaticString = #fileID, line: UInt = #line) {
    position = shieldedIndex(before: position, fileID: fileID, line: line)
  }
}

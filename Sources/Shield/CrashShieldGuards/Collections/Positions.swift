/// Steps from one position to another, whose plain forms end the process past the bounds.
extension BidirectionalCollection {
  /// The position after another one; the end where there is none, which is recorded as `index`.
  ///
  /// In place of `index(after:)`, which ends the process, or goes beyond the end in an array. A position before the start has
  /// the start after it.
  @inlinable
  public func shieldedIndex(after position: Index, fileID: StaticString = #fileID, line: UInt = #line) -> Index {
    if position >= startIndex && position < endIndex { return index(after: position) }
    guard handleIndexFault(position, fileID, line) else { return index(after: position) }
    return position < startIndex ? startIndex : endIndex
  }

  /// The position before another one; the start where there is none, which is recorded as `index`.
  ///
  /// In place of `index(before:)`. A position behind the end has the end before it.
  @inlinable
  public func shieldedIndex(before position: Index, fileID: StaticString = #fileID, line: UInt = #line) -> Index {
    if position > startIndex && position <= endIndex { return index(before: position) }
    guard handleIndexFault(position, fileID, line) else { return index(before: position) }
    return position > endIndex ? endIndex : startIndex
  }

  /// The position so many elements from another; the end or the start where there are not as many, which is recorded as
  /// `index`.
  ///
  /// In place of `index(_:offsetBy:)`.
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

  /// Goes on to the next position; to the end where there is none, which is recorded as `index`.
  ///
  /// In place of `formIndex(after:)`.
  @inlinable
  public func shieldedFormIndex(after position: inout Index, fileID: StaticString = #fileID, line: UInt = #line) {
    position = shieldedIndex(after: position, fileID: fileID, line: line)
  }

  /// Goes back to the position before; to the start where there is none, which is recorded as `index`.
  ///
  /// In place of `formIndex(before:)`.
  @inlinable
  public func shieldedFormIndex(before position: inout Index, fileID: StaticString = #fileID, line: UInt = #line) {
    position = shieldedIndex(before: position, fileID: fileID, line: line)
  }
}

extension BidirectionalCollection where Self: MutableCollection {
  /// Replaces an element; if the index is out of bounds, has no effect and records the fault as `mutation`.
  ///
  /// Replaces `self[position] = element`, which ends the process in this case.
  ///
  /// - Returns: Whether the element was replaced.
  @inlinable
  @discardableResult
  public mutating func shieldedReplace(
    at position: Index, with element: Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    if position >= startIndex && position < endIndex {
      self[position] = element
      return true
    }
    guard handleIndexFault(position, fileID, line, .mutation) else {
      self[position] = element
      return true
    }
    return false
  }

  /// Changes an element in place; if the index is out of bounds, has no effect and records the fault as `mutation`.
  ///
  /// Replaces statements such as `self[position] += 1` and `self[position].name = "x"`, which end the process.
  ///
  /// ```swift
  /// counts.shieldedUpdate(at: hour) { $0 += 1 }
  /// ```
  ///
  /// - Returns: The result of the function; nil if the function was not called.
  @inlinable
  @discardableResult
  public mutating func shieldedUpdate<Result, Failure: Error>(
    at position: Index, fileID: StaticString = #fileID, line: UInt = #line,
    _ change: (inout Element) throws(Failure) -> Result
  ) throws(Failure) -> Result? {
    if position >= startIndex && position < endIndex { return try change(&self[position]) }
    guard handleIndexFault(position, fileID, line, .mutation) else { return try change(&self[position]) }
    return nil
  }

  /// Swaps two elements; if an index is out of bounds, has no effect and records the fault as `mutation`.
  ///
  /// - Returns: Whether the elements were swapped.
  @inlinable
  @discardableResult
  public mutating func shieldedSwapAt(
    _ first: Index, _ second: Index, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isFirstInside = first >= startIndex && first < endIndex
    if isFirstInside && second >= startIndex && second < endIndex {
      swapAt(first, second)
      return true
    }
    guard handleIndexFault(isFirstInside ? second : first, fileID, line, .mutation) else {
      swapAt(first, second)
      return true
    }
    return false
  }
}

extension BidirectionalCollection where Self: RangeReplaceableCollection {
  /// Inserts an element before an index or at the end; if the index is out of bounds, has no effect and records the
  /// fault as `mutation`.
  ///
  /// - Returns: Whether the element was inserted.
  @inlinable
  @discardableResult
  public mutating func shieldedInsert(
    _ element: Element, at position: Index, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    if position >= startIndex && position <= endIndex {
      insert(element, at: position)
      return true
    }
    guard handleIndexFault(position, fileID, line, .mutation) else {
      insert(element, at: position)
      return true
    }
    return false
  }

  /// Removes an element; if the index is out of bounds, returns nil and records the fault as `mutation`.
  @inlinable
  @discardableResult
  public mutating func shieldedRemove(
    at position: Index, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Element? {
    if position >= startIndex && position < endIndex { return remove(at: position) }
    guard handleIndexFault(position, fileID, line, .mutation) else { return remove(at: position) }
    return nil
  }

  /// Replaces a range of elements; if a part of the range is out of bounds, has no effect and records the fault as
  /// `mutation`.
  ///
  /// - Returns: Whether the range was replaced.
  @inlinable
  @discardableResult
  public mutating func shieldedReplaceSubrange(
    _ range: Range<Index>, with elements: some Collection<Element>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isInside = range.lowerBound >= startIndex && range.upperBound <= endIndex
    if !isInside {
      let odd = range.lowerBound < startIndex ? range.lowerBound : range.upperBound
      if handleIndexFault(odd, fileID, line, .mutation) { return false }
    }
    replaceSubrange(range, with: elements)
    return true
  }

  /// Removes the first element; if the collection is empty, returns nil and records the fault as `mutation`.
  @inlinable
  @discardableResult
  public mutating func shieldedRemoveFirst(fileID: StaticString = #fileID, line: UInt = #line) -> Element? {
    if !isEmpty { return removeFirst() }
    guard handleIndexFault(startIndex, fileID, line, .mutation) else { return removeFirst() }
    return nil
  }

  /// Removes the last element; if the collection is empty, returns nil and records the fault as `mutation`.
  @inlinable
  @discardableResult
  public mutating func shieldedRemoveLast(fileID: StaticString = #fileID, line: UInt = #line) -> Element? {
    if let last {
      removeSubrange(index(before: endIndex)..<endIndex)
      return last
    }
    guard handleIndexFault(endIndex, fileID, line, .mutation) else { return remove(at: endIndex) }
    return nil
  }

  /// Removes the last `count` elements, or all if there are fewer; a count that is negative or too large is recorded as
  /// `mutation`.
  ///
  /// - Returns: The removed elements, in their original order.
  @inlinable
  @discardableResult
  public mutating func shieldedRemoveLast(
    _ count: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [Element] {
    let possible = Swift.min(Swift.max(count, 0), self.count)
    if possible != count, !handleCountFault(count, Self.self, .mutation, fileID, line) {
      removeSubrange(index(endIndex, offsetBy: -count)..<endIndex)
      return []
    }
    let removed = Array(suffix(possible))
    removeSubrange(index(endIndex, offsetBy: -possible)..<endIndex)
    return removed
  }

  /// Removes the first `count` elements, or all if there are fewer; a count that is negative or too large is recorded
  /// as `mutation`.
  ///
  /// - Returns: The removed elements.
  @inlinable
  @discardableResult
  public mutating func shieldedRemoveFirst(
    _ count: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [Element] {
    let possible = Swift.min(Swift.max(count, 0), self.count)
    if possible != count, !handleCountFault(count, Self.self, .mutation, fileID, line) {
      removeFirst(count)
      return []
    }
    let removed = Array(prefix(possible))
    removeFirst(possible)
    return removed
  }
}

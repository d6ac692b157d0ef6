internal import CrashShield

extension BidirectionalCollection {
  /// The element at a position, or nil where the collection has none, which is recorded as `index`.
  ///
  /// In place of `self[position]`, which ends the process. `Dictionary` and `Set` have no such subscript, because
  /// comparing their indices traps, and so not every `Collection` has one.
  ///
  /// ```swift
  /// let third = parts[shielded: 2] ?? ""
  /// ```
  ///
  /// As fast as the plain subscript. `off` and `observe`: as the plain subscript.
  @inlinable
  public subscript(shielded position: Index, fileID fileID: StaticString = #fileID, line line: UInt = #line) -> Element?
  {
    if position >= startIndex && position < endIndex { return self[position] }
    guard handleIndexFault(position, fileID, line) else { return self[position] }
    return nil
  }

  /// The element at a position, or `default` where the collection has none, which is recorded as `index`.
  @inlinable
  public subscript(
    shielded position: Index, default value: @autoclosure () -> Element, fileID fileID: StaticString = #fileID,
    line line: UInt = #line
  ) -> Element {
    if position >= startIndex && position < endIndex { return self[position] }
    guard handleIndexFault(position, fileID, line) else { return self[position] }
    return kept(value())
  }

  // Generic code over collections may pass a string.
  @inline(never)
  @usableFromInline
  func handleIndexFault(_ position: Index, _ fileID: StaticString, _ line: UInt, _ kind: ShieldKind = .index) -> Bool {
    let kind = kind == .index && Self.self is any StringProtocol.Type ? .stringIndex : kind
    return Shield.handleFault(kind, at: ShieldSite(fileID: fileID, line: line)) {
      "\(described(position)) is outside of \(described(startIndex))..<\(described(endIndex)) of \(Self.self)"
    }
  }

  @inline(never)
  @usableFromInline
  func handleRangeFault(_ lower: Index?, _ upper: Index?, _ fileID: StaticString, _ line: UInt) -> Bool {
    let kind: ShieldKind = Self.self is any StringProtocol.Type ? .stringIndex : .range
    return Shield.handleFault(kind, at: ShieldSite(fileID: fileID, line: line)) {
      let lower = lower.map(described) ?? ""
      let upper = upper.map(described) ?? ""
      return "\(lower)..<\(upper) is outside of \(described(startIndex))..<\(described(endIndex)) of \(Self.self)"
    }
  }
}

/// Integer indices: compared at once, and passed as they are, so that a loop keeps them in registers.
extension RandomAccessCollection where Index == Int {
  /// The element at a position, or nil where the collection has none, which is recorded as `index`.
  ///
  /// In place of `self[position]`, which ends the process.
  ///
  /// ```swift
  /// let third = parts[shielded: 2] ?? ""
  /// ```
  ///
  /// Two instructions more than the plain subscript. `off` and `observe`: as the plain subscript.
  @inlinable
  public subscript(shielded position: Int, fileID fileID: StaticString = #fileID, line line: UInt = #line) -> Element? {
    if _fastPath(holds(position)) { return self[position] }
    guard handleIntegerIndexFault(position, startIndex, endIndex, Self.self, fileID, line) else {
      return self[position]
    }
    return nil
  }

  /// The element at a position, or `default` where the collection has none, which is recorded as `index`.
  @inlinable
  public subscript(
    shielded position: Int, default value: @autoclosure () -> Element, fileID fileID: StaticString = #fileID,
    line line: UInt = #line
  ) -> Element {
    if _fastPath(holds(position)) { return self[position] }
    guard handleIntegerIndexFault(position, startIndex, endIndex, Self.self, fileID, line) else {
      return self[position]
    }
    return kept(value())
  }

  // The distance from the start is unsigned, and a position before it wraps: one comparison covers both bounds.
  @inlinable
  @inline(__always)
  func holds(_ position: Int) -> Bool {
    UInt(bitPattern: position &- startIndex) < UInt(bitPattern: endIndex &- startIndex)
  }
}

@inline(never)
@usableFromInline
func handleIntegerIndexFault(
  _ position: Int, _ lower: Int, _ upper: Int, _ type: Any.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  Shield.handleFault(.index, at: ShieldSite(fileID: fileID, line: line)) {
    "\(position) is outside of \(lower)..<\(upper) of \(type)"
  }
}

extension StringProtocol {
  /// The character at a position, or nil where the string has none, which is recorded as `stringIndex`.
  ///
  /// A position inside of a character is rounded down, as by the plain subscript.
  @inlinable
  public subscript(shielded position: Index, fileID fileID: StaticString = #fileID, line line: UInt = #line)
    -> Character?
  {
    if position >= startIndex && position < endIndex { return self[position] }
    guard handleStringIndexFault(fileID, line) else { return self[position] }
    return nil
  }

  /// The part of the string that is in the range; an out-of-bounds range is recorded as `stringIndex`.
  @inlinable
  public subscript(
    shielded range: Range<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.upperBound <= endIndex { return self[range] }
    guard handleStringIndexFault(fileID, line) else { return self[range] }
    let lower = Swift.min(Swift.max(range.lowerBound, startIndex), endIndex)
    return self[lower..<Swift.max(lower, Swift.min(range.upperBound, endIndex))]
  }

  /// The position at this distance in characters from another one, clamped to the string's start or end, which is
  /// recorded as `stringIndex`.
  @inlinable
  public func shieldedIndex(
    _ position: Index, offsetBy distance: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Index {
    let limit = distance < 0 ? startIndex : endIndex
    if position >= startIndex, position <= endIndex, let found = index(position, offsetBy: distance, limitedBy: limit) {
      return found
    }
    guard handleStringIndexFault(fileID, line) else { return index(position, offsetBy: distance) }
    return limit
  }

  // The reason holds only the length of the string, no contents and no position. Asking an index of another string for
  // its offset would trap.
  @inline(never)
  @usableFromInline
  func handleStringIndexFault(_ fileID: StaticString, _ line: UInt) -> Bool {
    Shield.handleFault(.stringIndex, at: ShieldSite(fileID: fileID, line: line)) {
      "a position outside of a \(Self.self) of \(utf16.count) UTF-16 units"
    }
  }
}

/// A position as a number; an index of another type may hold contents, so it stays out.
@usableFromInline
func described(_ position: some Any) -> String {
  (position as? any BinaryInteger).map { "\($0)" } ?? "?"
}

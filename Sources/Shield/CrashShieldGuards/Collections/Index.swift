internal import CrashShield

extension BidirectionalCollection {
  /// The element at an index; if the index is out of bounds, the value is nil and the fault is recorded as `index`.
  ///
  /// Replaces `self[position]`, which ends the process in this case. `Dictionary` and `Set` do not have this subscript,
  /// because comparing their indices can trap. For this reason the subscript is not declared for every `Collection`.
  ///
  /// ```swift
  /// let third = parts[shielded: 2] ?? ""
  /// ```
  ///
  /// The subscript is as fast as the plain subscript. Under `off` and `observe`, the guard behaves like the plain
  /// subscript.
  @inlinable
  public subscript(shielded position: Index, fileID fileID: StaticString = #fileID, line line: UInt = #line) -> Element?
  {
    if position >= startIndex && position < endIndex { return self[position] }
    guard handleIndexFault(position, fileID, line) else { return self[position] }
    return nil
  }

  /// The element at an index; if the index is out of bounds, the value is `default` and the fault is recorded as
  /// `index`.
  @inlinable
  public subscript(
    shielded position: Index, default value: @autoclosure () -> Element, fileID fileID: StaticString = #fileID,
    line line: UInt = #line
  ) -> Element {
    if position >= startIndex && position < endIndex { return self[position] }
    guard handleIndexFault(position, fileID, line) else { return self[position] }
    return kept(value())
  }

  // Faults of strings have the kind `stringIndex`. The type is checked at run time, because generic code over
  // collections can pass a string.
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

/// Guards of collections with integer indices. Because these functions compare integers directly and pass them by
/// value, a loop keeps the integers in registers.
extension RandomAccessCollection where Index == Int {
  /// The element at an index; if the index is out of bounds, the value is nil and the fault is recorded as `index`.
  ///
  /// Replaces `self[position]`, which ends the process in this case.
  ///
  /// ```swift
  /// let third = parts[shielded: 2] ?? ""
  /// ```
  ///
  /// The subscript takes two instructions more than the plain subscript. Under `off` and `observe`, the guard behaves
  /// like the plain subscript.
  @inlinable
  public subscript(shielded position: Int, fileID fileID: StaticString = #fileID, line line: UInt = #line) -> Element? {
    if _fastPath(holds(position)) { return self[position] }
    guard handleIntegerIndexFault(position, startIndex, endIndex, Self.self, fileID, line) else {
      return self[position]
    }
    return nil
  }

  /// The element at an index; if the index is out of bounds, the value is `default` and the fault is recorded as
  /// `index`.
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

  // One comparison checks both bounds: the distance from the start is unsigned, and wraps around to a large number for
  // an index before the start.
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
  /// The character at an index; if the index is out of bounds, the value is nil and the fault is recorded as
  /// `stringIndex`.
  ///
  /// As in the plain subscript, an index inside a character is rounded down to the start of the character.
  @inlinable
  public subscript(shielded position: Index, fileID fileID: StaticString = #fileID, line line: UInt = #line)
    -> Character?
  {
    if position >= startIndex && position < endIndex { return self[position] }
    guard handleStringIndexFault(fileID, line) else { return self[position] }
    return nil
  }

  /// The characters of the range that are in the string; an out-of-bounds range is recorded as `stringIndex`.
  @inlinable
  public subscript(
    shielded range: Range<Index>, fileID fileID: StaticString = #fileID, line line: UInt = #line
  ) -> SubSequence {
    if range.lowerBound >= startIndex && range.upperBound <= endIndex { return self[range] }
    guard handleStringIndexFault(fileID, line) else { return self[range] }
    let lower = Swift.min(Swift.max(range.lowerBound, startIndex), endIndex)
    return self[lower..<Swift.max(lower, Swift.min(range.upperBound, endIndex))]
  }

  /// Returns the index at a distance in characters from another index; if the result is out of bounds, returns the
  /// string's start or end and records the fault as `stringIndex`.
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

  // The reason contains the length of the string, but not its contents. The reason does not contain the index either,
  // because reading the offset of an index of another string can trap.
  @inline(never)
  @usableFromInline
  func handleStringIndexFault(_ fileID: StaticString, _ line: UInt) -> Bool {
    Shield.handleFault(.stringIndex, at: ShieldSite(fileID: fileID, line: line)) {
      "a position outside of a \(Self.self) of \(utf16.count) UTF-16 units"
    }
  }
}

/// Returns the description of an integer index; "?" for an index of another type, which can contain values of the
/// program.
@usableFromInline
func described(_ position: some Any) -> String {
  (position as? any BinaryInteger).map { "\($0)" } ?? "?"
}

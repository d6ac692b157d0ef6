internal import CrashShieldGuards
public import Foundation

extension NSMutableString {
  /// Inserts a string before a UTF-16 index or at the end; if the index is past the end, has no effect and records the
  /// fault as `foundationRange`.
  ///
  /// - Returns: Whether the string was inserted.
  @discardableResult
  public func shieldedInsert(
    _ text: String, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSMutableString.self, fileID, line) { return false }
    insert(text, at: index)
    return true
  }

  /// Deletes a range of UTF-16 units; if a part is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the range was deleted.
  @discardableResult
  public func shieldedDeleteCharacters(
    in range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableString.self, fileID, line) else { return false }
    deleteCharacters(in: range)
    return true
  }

  /// Replaces a range of UTF-16 units; if a part is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the range was replaced.
  @discardableResult
  public func shieldedReplaceCharacters(
    in range: NSRange, with text: String, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableString.self, fileID, line) else { return false }
    replaceCharacters(in: range, with: text)
    return true
  }
}

extension NSAttributedString {
  /// Returns an attribute at a UTF-16 index; if the index is out of bounds, returns nil and records the fault as
  /// `foundationRange`.
  public func shieldedAttribute(
    _ name: NSAttributedString.Key, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Any? {
    let isOutside = index < 0 || index >= length
    if isOutside, handleFault(index, length, NSAttributedString.self, fileID, line) { return nil }
    // Invariant: the function accepts nil for the effective range, which the caller does not need.
    return unsafe attribute(name, at: index, effectiveRange: nil)
  }

  /// Returns the attributes at a UTF-16 index; if the index is out of bounds, returns no attributes and records the
  /// fault as `foundationRange`.
  public func shieldedAttributes(
    at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [NSAttributedString.Key: Any] {
    let isOutside = index < 0 || index >= length
    if isOutside, handleFault(index, length, NSAttributedString.self, fileID, line) { return [:] }
    // Invariant: the function accepts nil for the effective range, which the caller does not need.
    return unsafe attributes(at: index, effectiveRange: nil)
  }
}

extension NSMutableAttributedString {
  /// Adds attributes to a range of UTF-16 units, clamped to the bounds; an out-of-bounds range is recorded as
  /// `foundationRange`.
  public func shieldedAddAttributes(
    _ attributes: [NSAttributedString.Key: Any], range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    addAttributes(attributes, range: clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range)
  }

  /// Replaces the attributes of a range of UTF-16 units, clamped to the bounds; an out-of-bounds range is recorded as
  /// `foundationRange`.
  public func shieldedSetAttributes(
    _ attributes: [NSAttributedString.Key: Any]?, range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    setAttributes(attributes, range: clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range)
  }

  /// Removes an attribute from a range of UTF-16 units, clamped to the bounds; an out-of-bounds range is recorded as
  /// `foundationRange`.
  public func shieldedRemoveAttribute(
    _ name: NSAttributedString.Key, range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    removeAttribute(name, range: clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range)
  }

  /// Inserts a string before a UTF-16 index or at the end; if the index is past the end, has no effect and records the
  /// fault as `foundationRange`.
  ///
  /// - Returns: Whether the string was inserted.
  @discardableResult
  public func shieldedInsert(
    _ text: NSAttributedString, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSMutableAttributedString.self, fileID, line) { return false }
    insert(text, at: index)
    return true
  }

  /// Deletes a range of UTF-16 units; if a part is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the range was deleted.
  @discardableResult
  public func shieldedDeleteCharacters(
    in range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableAttributedString.self, fileID, line) else { return false }
    deleteCharacters(in: range)
    return true
  }

  /// Replaces a range of UTF-16 units; if a part is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the range was replaced.
  @discardableResult
  public func shieldedReplaceCharacters(
    in range: NSRange, with text: String, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableAttributedString.self, fileID, line) else { return false }
    replaceCharacters(in: range, with: text)
    return true
  }
}

/// Whether to perform the plain operation on this range: the range is in bounds, or the guard mode is not `absorb`.
private func isPresent<Object>(
  _ range: NSRange, _ count: Int, _: Object.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  guard let inside = clamped(range, count, Object.self, fileID, line) else { return true }
  return NSEqualRanges(inside, range)
}

internal import CrashShieldGuards
public import Foundation

extension NSMutableString {
  /// Inserts a text before a UTF-16 unit or at the end; without effect behind that, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was inserted.
  @discardableResult
  public func shieldedInsert(
    _ text: String, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSMutableString.self, fileID, line) { return false }
    insert(text, at: index)
    return true
  }

  /// Deletes a range of UTF-16 units; without effect where not all of it is there, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was deleted.
  @discardableResult
  public func shieldedDeleteCharacters(
    in range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableString.self, fileID, line) else { return false }
    deleteCharacters(in: range)
    return true
  }

  /// Replaces a range of UTF-16 units; without effect where not all of it is there, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was replaced.
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
  /// The value of an attribute at a UTF-16 unit, or nil where there is no such unit, which is recorded as `foundationRange`.
  public func shieldedAttribute(
    _ name: NSAttributedString.Key, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Any? {
    let isOutside = index < 0 || index >= length
    if isOutside, handleFault(index, length, NSAttributedString.self, fileID, line) { return nil }
    // The caller does not need the effective range.
    return unsafe attribute(name, at: index, effectiveRange: nil)
  }

  /// The attributes at a UTF-16 unit; none where there is no such unit, which is recorded as `foundationRange`.
  public func shieldedAttributes(
    at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [NSAttributedString.Key: Any] {
    let isOutside = index < 0 || index >= length
    if isOutside, handleFault(index, length, NSAttributedString.self, fileID, line) { return [:] }
    // The caller does not need the effective range.
    return unsafe attributes(at: index, effectiveRange: nil)
  }
}

extension NSMutableAttributedString {
  /// Gives a range of UTF-16 units attributes, as far as it is there; what is not is recorded as `foundationRange`.
  public func shieldedAddAttributes(
    _ attributes: [NSAttributedString.Key: Any], range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    addAttributes(attributes, range: clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range)
  }

  /// Gives a range of UTF-16 units these attributes and no others, as far as it is there; what is not is recorded as
  /// `foundationRange`.
  public func shieldedSetAttributes(
    _ attributes: [NSAttributedString.Key: Any]?, range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    setAttributes(attributes, range: clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range)
  }

  /// Takes an attribute from a range of UTF-16 units, as far as it is there; what is not is recorded as `foundationRange`.
  public func shieldedRemoveAttribute(
    _ name: NSAttributedString.Key, range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    removeAttribute(name, range: clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range)
  }

  /// Inserts a text before a UTF-16 unit or at the end; without effect behind that, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was inserted.
  @discardableResult
  public func shieldedInsert(
    _ text: NSAttributedString, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSMutableAttributedString.self, fileID, line) { return false }
    insert(text, at: index)
    return true
  }

  /// Deletes a range of UTF-16 units; without effect where not all of it is there, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was deleted.
  @discardableResult
  public func shieldedDeleteCharacters(
    in range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableAttributedString.self, fileID, line) else { return false }
    deleteCharacters(in: range)
    return true
  }

  /// Replaces a range of UTF-16 units; without effect where not all of it is there, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was replaced.
  @discardableResult
  public func shieldedReplaceCharacters(
    in range: NSRange, with text: String, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    guard isPresent(range, length, NSMutableAttributedString.self, fileID, line) else { return false }
    replaceCharacters(in: range, with: text)
    return true
  }
}

/// Whether to perform a change of this range: it is in bounds, or the mode performs the plain operation.
private func isPresent<Object>(
  _ range: NSRange, _ count: Int, _: Object.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  guard let inside = clamped(range, count, Object.self, fileID, line) else { return true }
  return NSEqualRanges(inside, range)
}

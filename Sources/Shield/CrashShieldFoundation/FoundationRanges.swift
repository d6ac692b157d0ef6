internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension NSArray {
  /// Returns the object at an index; if the index is out of bounds, returns nil and records the fault as
  /// `foundationRange`.
  public func shieldedObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Any? {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSArray.self, fileID, line) { return nil }
    return object(at: index)
  }

  /// Returns the objects of a range, clamped to the bounds; an out-of-bounds range is recorded as `foundationRange`.
  public func shieldedSubarray(
    with range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [Any] {
    if let inside = clamped(range, count, NSArray.self, fileID, line) { return subarray(with: inside) }
    return subarray(with: range)
  }
}

extension NSMutableArray {
  /// Adds an object; skips nil and records the fault as `missingValue`.
  ///
  /// Skips nil in every guard mode. With the plain operation, nil would become `NSNull`.
  ///
  /// - Returns: Whether an object was added.
  @discardableResult
  public func shieldedAdd(_ object: Any?, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    if let object {
      add(object)
      return true
    }
    Shield.recordFault(.missingValue, at: ShieldSite(fileID: fileID, line: line)) {
      "nil skipped for an NSMutableArray"
    }
    return false
  }
}

extension NSString {
  /// Returns the UTF-16 units of a range, clamped to the bounds; an out-of-bounds range is recorded as
  /// `foundationRange`.
  public func shieldedSubstring(
    with range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String {
    if let inside = clamped(range, length, NSString.self, fileID, line) { return substring(with: inside) }
    return substring(with: range)
  }

  /// Returns the part from a UTF-16 index to the end; if the index is past the end, returns "" and records the fault as
  /// `foundationRange`.
  public func shieldedSubstring(
    from index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSString.self, fileID, line) {
      return substring(from: Swift.min(Swift.max(index, 0), length))
    }
    return substring(from: index)
  }

  /// Returns the part before a UTF-16 index; if the index is past the end, returns the whole string and records the
  /// fault as `foundationRange`.
  public func shieldedSubstring(
    to index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSString.self, fileID, line) {
      return substring(to: Swift.min(Swift.max(index, 0), length))
    }
    return substring(to: index)
  }

  /// Returns the UTF-16 unit at an index; if the index is out of bounds, returns nil and records the fault as
  /// `foundationRange`.
  public func shieldedCharacter(
    at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> UInt16? {
    let isOutside = index < 0 || index >= length
    if isOutside, handleFault(index, length, NSString.self, fileID, line) { return nil }
    return character(at: index)
  }
}

extension NSAttributedString {
  /// Returns the UTF-16 units of a range, clamped to the bounds; an out-of-bounds range is recorded as
  /// `foundationRange`.
  public func shieldedAttributedSubstring(
    from range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> NSAttributedString {
    if let inside = clamped(range, length, NSAttributedString.self, fileID, line) {
      return attributedSubstring(from: inside)
    }
    return attributedSubstring(from: range)
  }
}

extension NSMutableAttributedString {
  /// Adds an attribute to a range of UTF-16 units, clamped to the bounds; an out-of-bounds range is recorded as
  /// `foundationRange`.
  ///
  /// Replaces `addAttribute`, which accesses invalid memory for an out-of-bounds range.
  public func shieldedAddAttribute(
    _ name: NSAttributedString.Key, value: Any, range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    let inside = clamped(range, length, NSMutableAttributedString.self, fileID, line) ?? range
    addAttribute(name, value: value, range: inside)
  }
}

func handleFault<Object>(
  _ index: Int, _ count: Int, _: Object.Type, _ fileID: StaticString, _ line: UInt
) -> Bool {
  Shield.handleFault(.foundationRange, at: ShieldSite(fileID: fileID, line: line)) {
    "\(index) is outside of 0..<\(count) of \(Object.self)"
  }
}

/// Returns the range clamped to the bounds; nil if the caller has to perform the plain operation.
///
/// The location can be `NSNotFound` and the length can be near `Int.max`, so do not add them: the addition would trap.
func clamped<Object>(
  _ range: NSRange, _ count: Int, _: Object.Type, _ fileID: StaticString, _ line: UInt
) -> NSRange? {
  let location = Swift.min(Swift.max(range.location, 0), count)
  let length = Swift.min(Swift.max(range.length, 0), count - location)
  if location == range.location && length == range.length { return range }
  let isAbsorbed = Shield.handleFault(.foundationRange, at: ShieldSite(fileID: fileID, line: line)) {
    "\(range.length) from \(range.location) on are outside of 0..<\(count) of \(Object.self)"
  }
  return isAbsorbed ? NSRange(location: location, length: length) : nil
}

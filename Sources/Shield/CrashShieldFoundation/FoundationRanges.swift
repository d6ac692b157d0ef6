internal import CrashShield
internal import CrashShieldGuards
public import Foundation

extension NSArray {
  /// The object at a position, or nil where there is none, which is recorded as `foundationRange`.
  public func shieldedObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Any? {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSArray.self, fileID, line) { return nil }
    return object(at: index)
  }

  /// The objects of a range, clamped to the bounds; an out-of-bounds range is recorded as `foundationRange`.
  public func shieldedSubarray(
    with range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> [Any] {
    if let inside = clamped(range, count, NSArray.self, fileID, line) { return subarray(with: inside) }
    return subarray(with: range)
  }
}

extension NSMutableArray {
  /// Adds an object; nil is skipped, which is recorded as `missingValue`.
  ///
  /// The same in every mode: without the guard, nil becomes `NSNull`.
  ///
  /// - Returns: Whether an object was added.
  @discardableResult
  public func shieldedAdd(_ object: Any?, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    if let object {
      add(object)
      return true
    }
    Shield.recordFault(.missingValue, at: ShieldSite(fileID: fileID, line: line)) {
      "nil left out of an NSMutableArray"
    }
    return false
  }
}

extension NSString {
  /// The part of the string in a range of UTF-16 units, as far as it is there; what is not is recorded as `foundationRange`.
  public func shieldedSubstring(
    with range: NSRange, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String {
    if let inside = clamped(range, length, NSString.self, fileID, line) { return substring(with: inside) }
    return substring(with: range)
  }

  /// The part of the string from a UTF-16 unit on; empty behind the end, which is recorded as `foundationRange`.
  public func shieldedSubstring(
    from index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSString.self, fileID, line) {
      return substring(from: Swift.min(Swift.max(index, 0), length))
    }
    return substring(from: index)
  }

  /// The part of the string before a UTF-16 unit; all of it behind the end, which is recorded as `foundationRange`.
  public func shieldedSubstring(
    to index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String {
    let isOutside = index < 0 || index > length
    if isOutside, handleFault(index, length, NSString.self, fileID, line) {
      return substring(to: Swift.min(Swift.max(index, 0), length))
    }
    return substring(to: index)
  }

  /// The UTF-16 unit at a position, or nil where there is none, which is recorded as `foundationRange`.
  public func shieldedCharacter(
    at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> UInt16? {
    let isOutside = index < 0 || index >= length
    if isOutside, handleFault(index, length, NSString.self, fileID, line) { return nil }
    return character(at: index)
  }
}

extension NSAttributedString {
  /// The part of the string in a range of UTF-16 units, as far as it is there; what is not is recorded as `foundationRange`.
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
  /// Gives a range of UTF-16 units an attribute, as far as it is there; what is not is recorded as `foundationRange`.
  ///
  /// Without the guard, an out-of-bounds range ends in a memory fault.
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

/// A range clamped to the bounds; nil if the caller has to perform the plain operation.
///
/// `NSNotFound` and a length near `Int.max` are ranges like others, and their sum would trap.
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

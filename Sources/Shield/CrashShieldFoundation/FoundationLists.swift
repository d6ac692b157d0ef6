internal import CrashShieldGuards
public import Foundation

extension NSMutableArray {
  /// Inserts an object before a position or at the end; without effect where there is no such position, which is recorded
  /// as `foundationRange`.
  ///
  /// - Returns: Whether it was inserted.
  @discardableResult
  public func shieldedInsert(
    _ object: Any, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > count
    if isOutside, handleFault(index, count, NSMutableArray.self, fileID, line) { return false }
    insert(object, at: index)
    return true
  }

  /// Removes the object at a position; without effect where there is none, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was removed.
  @discardableResult
  public func shieldedRemoveObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSMutableArray.self, fileID, line) { return false }
    removeObject(at: index)
    return true
  }

  /// Replaces the object at a position; without effect where there is none, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was replaced.
  @discardableResult
  public func shieldedReplaceObject(
    at index: Int, with object: Any, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSMutableArray.self, fileID, line) { return false }
    replaceObject(at: index, with: object)
    return true
  }
}

extension NSOrderedSet {
  /// The object at a position, or nil where there is none, which is recorded as `foundationRange`.
  public func shieldedObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Any? {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSOrderedSet.self, fileID, line) { return nil }
    return object(at: index)
  }
}

extension NSMutableOrderedSet {
  /// Inserts an object before a position or at the end; without effect where there is no such position, which is recorded
  /// as `foundationRange`.
  ///
  /// - Returns: Whether there was such a position; an object that the set has already stays where it is.
  @discardableResult
  public func shieldedInsert(
    _ object: Any, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > count
    if isOutside, handleFault(index, count, NSMutableOrderedSet.self, fileID, line) { return false }
    insert(object, at: index)
    return true
  }

  /// Removes the object at a position; without effect where there is none, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was removed.
  @discardableResult
  public func shieldedRemoveObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSMutableOrderedSet.self, fileID, line) { return false }
    removeObject(at: index)
    return true
  }

  /// Replaces the object at a position; without effect where there is none, which is recorded as `foundationRange`.
  ///
  /// - Returns: Whether it was replaced.
  @discardableResult
  public func shieldedReplaceObject(
    at index: Int, with object: Any, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSMutableOrderedSet.self, fileID, line) { return false }
    replaceObject(at: index, with: object)
    return true
  }
}

extension NSTextCheckingResult {
  /// The range of a group of the expression, or nil where that has no such group, which is recorded as `foundationRange`.
  ///
  /// A group that took no part in the match has a range whose location is `NSNotFound`, as ever.
  public func shieldedRange(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> NSRange? {
    let isOutside = index < 0 || index >= numberOfRanges
    if isOutside, handleFault(index, numberOfRanges, NSTextCheckingResult.self, fileID, line) { return nil }
    return range(at: index)
  }
}

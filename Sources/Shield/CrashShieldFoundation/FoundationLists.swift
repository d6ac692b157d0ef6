internal import CrashShieldGuards
public import Foundation

extension NSMutableArray {
  /// Inserts an object before an index or at the end; if the index is out of bounds, has no effect and records the
  /// fault as `foundationRange`.
  ///
  /// - Returns: Whether the object was inserted.
  @discardableResult
  public func shieldedInsert(
    _ object: Any, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > count
    if isOutside, handleFault(index, count, NSMutableArray.self, fileID, line) { return false }
    insert(object, at: index)
    return true
  }

  /// Removes the object at an index; if the index is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the object was removed.
  @discardableResult
  public func shieldedRemoveObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSMutableArray.self, fileID, line) { return false }
    removeObject(at: index)
    return true
  }

  /// Replaces the object at an index; if the index is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the object was replaced.
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
  /// Returns the object at an index; if the index is out of bounds, returns nil and records the fault as
  /// `foundationRange`.
  public func shieldedObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Any? {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSOrderedSet.self, fileID, line) { return nil }
    return object(at: index)
  }
}

extension NSMutableOrderedSet {
  /// Inserts an object before an index or at the end; if the index is out of bounds, has no effect and records the
  /// fault as `foundationRange`.
  ///
  /// - Returns: Whether the index was in bounds. An object that is already in the set keeps its index.
  @discardableResult
  public func shieldedInsert(
    _ object: Any, at index: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let isOutside = index < 0 || index > count
    if isOutside, handleFault(index, count, NSMutableOrderedSet.self, fileID, line) { return false }
    insert(object, at: index)
    return true
  }

  /// Removes the object at an index; if the index is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the object was removed.
  @discardableResult
  public func shieldedRemoveObject(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> Bool {
    let isOutside = index < 0 || index >= count
    if isOutside, handleFault(index, count, NSMutableOrderedSet.self, fileID, line) { return false }
    removeObject(at: index)
    return true
  }

  /// Replaces the object at an index; if the index is out of bounds, has no effect and records the fault as
  /// `foundationRange`.
  ///
  /// - Returns: Whether the object was replaced.
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
  /// Returns the range of a capture group; if the expression has no such group, returns nil and records the fault as
  /// `foundationRange`.
  ///
  /// If a group exists but did not take part in the match, the location of its range is `NSNotFound`, as in the plain
  /// function.
  public func shieldedRange(at index: Int, fileID: StaticString = #fileID, line: UInt = #line) -> NSRange? {
    let isOutside = index < 0 || index >= numberOfRanges
    if isOutside, handleFault(index, numberOfRanges, NSTextCheckingResult.self, fileID, line) { return nil }
    return range(at: index)
  }
}

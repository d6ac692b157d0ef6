internal import CrashShield

extension Array {
  /// Creates a collection of equal elements; for a negative count or a count above `limit`, creates an empty
  /// collection.
  ///
  /// A count that is negative or above `limit` is recorded as `capacity`. The default limit is the size of the address
  /// space, which is far more than a machine's memory. Because the process ends if memory runs out, pass a limit for an
  /// untrusted count.
  @inlinable
  public init(
    shieldedRepeating element: Element, count: Int,
    limit: Int = (1 << 47) / Swift.max(MemoryLayout<Element>.stride, 1), fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    if (count >= 0 && count <= limit) || !handleCountFault(count, Self.self, .capacity, fileID, line) {
      self.init(repeating: element, count: count)
    } else {
      self.init()
    }
  }

  /// Reserves capacity; for a negative count or a count above `limit`, has no effect and records the fault as
  /// `capacity`.
  @inlinable
  public mutating func shieldedReserveCapacity(
    _ count: Int, limit: Int, fileID: StaticString = #fileID, line: UInt = #line
  ) {
    if (count >= 0 && count <= limit) || !handleCountFault(count, Self.self, .capacity, fileID, line) {
      reserveCapacity(count)
    }
  }
}

extension Collection {
  /// Returns the first `count` elements, or all if there are fewer; for a negative count, returns no elements and
  /// records the fault as `capacity`.
  @inlinable
  public func shieldedPrefix(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    prefix(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }

  /// Returns all but the first `count` elements; for a negative count, returns all elements and records the fault as
  /// `capacity`.
  @inlinable
  public func shieldedDropFirst(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    dropFirst(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }
}

extension BidirectionalCollection {
  /// Returns the last `count` elements, or all if there are fewer; for a negative count, returns no elements and
  /// records the fault as `capacity`.
  @inlinable
  public func shieldedSuffix(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    suffix(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }

  /// Returns all but the last `count` elements; for a negative count, returns all elements and records the fault as
  /// `capacity`.
  @inlinable
  public func shieldedDropLast(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    dropLast(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }
}

@inline(never)
@usableFromInline
func handleCountFault<Collection>(
  _ count: Int, _: Collection.Type, _ kind: ShieldKind, _ fileID: StaticString, _ line: UInt
) -> Bool {
  Shield.handleFault(kind, at: ShieldSite(fileID: fileID, line: line)) { "a count of \(count) for \(Collection.self)" }
}

internal import CrashShield

extension Array {
  /// Creates a collection of equal elements; empty for a count below zero or above `limit`, which is recorded as
  /// `capacity`.
  ///
  /// The default limit is what no address space has room for. A machine's memory allows far less, and running out of it
  /// ends the process: pass a limit for an untrusted count.
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

  /// Reserves capacity; has no effect for a count below zero or above `limit`, which is recorded as `capacity`.
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
  /// The first elements, so many or as many as there are; none where the count is below zero, which is recorded as `capacity`.
  @inlinable
  public func shieldedPrefix(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    prefix(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }

  /// All but the first elements; all where the count is below zero, which is recorded as `capacity`.
  @inlinable
  public func shieldedDropFirst(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    dropFirst(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }
}

extension BidirectionalCollection {
  /// The last elements, so many or as many as there are; none where the count is below zero, which is recorded as `capacity`.
  @inlinable
  public func shieldedSuffix(_ count: Int, fileID: StaticString = #fileID, line: UInt = #line) -> SubSequence {
    suffix(count >= 0 || !handleCountFault(count, Self.self, .capacity, fileID, line) ? count : 0)
  }

  /// All but the last elements; all where the count is below zero, which is recorded as `capacity`.
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

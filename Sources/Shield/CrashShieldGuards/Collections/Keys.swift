internal import CrashShield

/// The value that is kept for a duplicate key.
public enum DuplicatePolicy: Sendable, Hashable {
  /// The first value of the key.
  case keepFirst
  /// The last value of the key.
  case keepLast
}

extension Dictionary {
  /// Creates a dictionary of these pairs; keeps one value of a duplicate key, and records the number of duplicates as
  /// `duplicateKey`.
  ///
  /// Replaces `init(uniqueKeysWithValues:)`, which ends the process in this case.
  @inlinable
  public init(
    shieldedUniqueKeysWithValues pairs: some Sequence<(Key, Value)>, onDuplicate policy: DuplicatePolicy = .keepFirst,
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.init(minimumCapacity: pairs.underestimatedCount)
    var duplicates = 0
    var first: [(Key, Value)] = []
    for (key, value) in pairs {
      guard let earlier = updateValue(value, forKey: key) else { continue }
      if duplicates == 0 { first = [(key, earlier), (key, value)] }
      duplicates += 1
      if policy == .keepFirst { self[key] = earlier }
    }
    if duplicates > 0 && !handleDuplicateKeys(duplicates, Key.self, fileID, line) {
      self = Dictionary(uniqueKeysWithValues: first)
    }
  }

  /// Creates a dictionary of the pairs without nil; skipped pairs are recorded as `missingValue`.
  ///
  /// The pairs are skipped in each guard mode, because the plain operation does not trap. If the value type is itself
  /// an optional, a pair with the value `.some(nil)` is kept.
  @inlinable
  public init(shielded pairs: some Sequence<(Key?, Value?)>, fileID: StaticString = #fileID, line: UInt = #line) {
    self.init(minimumCapacity: pairs.underestimatedCount)
    var missing = 0
    for case (let key, let value) in pairs {
      if let key, let value { self[key] = value } else { missing += 1 }
    }
    if missing > 0 { recordMissingValues(missing, Self.self, fileID, line) }
  }
}

extension Array {
  /// Creates an array of the elements that are not nil; skipped elements are recorded as `missingValue`.
  ///
  /// Skips nil in each guard mode, because the plain operation does not trap.
  @inlinable
  public init(shielded elements: some Sequence<Element?>, fileID: StaticString = #fileID, line: UInt = #line) {
    var missing = 0
    self.init()
    reserveCapacity(elements.underestimatedCount)
    for element in elements {
      if let element { append(element) } else { missing += 1 }
    }
    if missing > 0 { recordMissingValues(missing, Self.self, fileID, line) }
  }
}

@inline(never)
@usableFromInline
func handleDuplicateKeys<Key>(_ count: Int, _: Key.Type, _ fileID: StaticString, _ line: UInt) -> Bool {
  Shield.handleFault(.duplicateKey, at: ShieldSite(fileID: fileID, line: line)) {
    "\(count) duplicate keys of \(Key.self)"
  }
}

@inline(never)
@usableFromInline
func recordMissingValues<Collection>(_ count: Int, _: Collection.Type, _ fileID: StaticString, _ line: UInt) {
  Shield.recordFault(.missingValue, at: ShieldSite(fileID: fileID, line: line)) {
    "\(count) nil skipped for \(Collection.self)"
  }
}

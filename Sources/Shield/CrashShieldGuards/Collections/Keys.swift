internal import CrashShield

/// The value that a duplicate key keeps.
public enum DuplicatePolicy: Sendable, Hashable {
  /// The first one.
  case keepFirst
  /// The last one.
  case keepLast
}

extension Dictionary {
  /// Creates a dictionary of these pairs; a duplicate key keeps one value, and duplicates are recorded as
  /// `duplicateKey`, with their number.
  ///
  /// In place of `init(uniqueKeysWithValues:)`, which ends the process.
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
  /// The plain operation does not trap: each mode skips them. A value that is itself optional and nil is a value.
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
  /// The elements that are not nil; skipped ones are recorded as `missingValue`.
  ///
  /// The plain operation does not trap: each mode skips them.
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
    "\(count) values for a \(Key.self) that has one"
  }
}

@inline(never)
@usableFromInline
func recordMissingValues<Collection>(_ count: Int, _: Collection.Type, _ fileID: StaticString, _ line: UInt) {
  Shield.recordFault(.missingValue, at: ShieldSite(fileID: fileID, line: line)) {
    "\(count) nil left out of \(Collection.self)"
  }
}

internal import CrashShield

/// Removes an element of a set, or a key of a dictionary.
///
/// There is no guard for removal by index, because such a guard would have to compare indices of a set or dictionary,
/// and this comparison can trap.
extension Set {
  /// Removes an element; if the set does not contain it, returns nil and records the fault as `mutation`.
  ///
  /// Replaces `remove(at: firstIndex(of: element)!)`, which ends the process in this case. Use plain `remove` if the
  /// element is often missing.
  @inlinable
  @discardableResult
  public mutating func shieldedRemove(
    _ element: Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Element? {
    if let removed = remove(element) { return removed }
    guard handleMissingElement(Self.self, fileID, line) else { return remove(at: endIndex) }
    return nil
  }

  /// Removes some element; if the set is empty, returns nil and records the fault as `mutation`.
  ///
  /// Replaces `removeFirst()`, which ends the process in this case.
  @inlinable
  @discardableResult
  public mutating func shieldedRemoveFirst(fileID: StaticString = #fileID, line: UInt = #line) -> Element? {
    if !isEmpty { return removeFirst() }
    guard handleMissingElement(Self.self, fileID, line) else { return removeFirst() }
    return nil
  }
}

extension Dictionary {
  /// Removes a key with its value; if the dictionary does not contain it, returns nil and records the fault as
  /// `mutation`.
  ///
  /// Replaces `remove(at: index(forKey: key)!)`, which ends the process in this case. Use `removeValue` or `self[key] =
  /// nil` if the key is often missing.
  @inlinable
  @discardableResult
  public mutating func shieldedRemove(
    _ key: Key, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Value? {
    if let place = index(forKey: key) { return remove(at: place).value }
    guard handleMissingElement(Self.self, fileID, line) else { return remove(at: endIndex).value }
    return nil
  }
}

extension Collection {
  /// Returns the first element; if the collection is empty, returns `value` and records the fault as `unwrap`.
  ///
  /// Replaces `first!`, which ends the process in this case.
  @inlinable
  public func shieldedFirst(
    or value: @autoclosure () -> Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Element {
    first.shielded(or: value(), fileID: fileID, line: line)
  }
}

extension Character {
  /// Creates the only character of a string; if the string is empty or has several characters, creates `character` and
  /// records the fault as `conversion`.
  ///
  /// Replaces `Character(text)`, which ends the process for an empty string.
  public init(
    shielded text: some StringProtocol, or character: @autoclosure () -> Character, fileID: StaticString = #fileID,
    line: UInt = #line
  ) {
    if let first = text.first, text.index(after: text.startIndex) == text.endIndex {
      self = first
      return
    }
    let isAbsorbed = Shield.handleFault(.conversion, at: ShieldSite(fileID: fileID, line: line)) {
      "a text of \(text.utf16.count) UTF-16 units for a Character"
    }
    self = isAbsorbed ? character() : Character(String(text))
  }
}

@inline(never)
@usableFromInline
func handleMissingElement<Collection>(_: Collection.Type, _ fileID: StaticString, _ line: UInt) -> Bool {
  Shield.handleFault(.mutation, at: ShieldSite(fileID: fileID, line: line)) { "not an element of a \(Collection.self)" }
}

internal import CrashShield

/// Removal by element and by key: comparing positions of sets and dictionaries traps, so there is none by position.
extension Set {
  /// Removes an element; nil where the set has it not, which is recorded as `mutation`.
  ///
  /// In place of `remove(at: firstIndex(of: element)!)`, which ends the process. Where it may well not be there, `remove`
  /// is right.
  @inlinable
  @discardableResult
  public mutating func shieldedRemove(
    _ element: Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Element? {
    if let removed = remove(element) { return removed }
    guard handleMissingElement(Self.self, fileID, line) else { return remove(at: endIndex) }
    return nil
  }

  /// Removes some element; nil where there is none, which is recorded as `mutation`.
  ///
  /// In place of `removeFirst()`, which ends the process.
  @inlinable
  @discardableResult
  public mutating func shieldedRemoveFirst(fileID: StaticString = #fileID, line: UInt = #line) -> Element? {
    if !isEmpty { return removeFirst() }
    guard handleMissingElement(Self.self, fileID, line) else { return removeFirst() }
    return nil
  }
}

extension Dictionary {
  /// Removes a key with its value; nil where the dictionary has it not, which is recorded as `mutation`.
  ///
  /// In place of `remove(at: index(forKey: key)!)`, which ends the process. Where it may well not be there, `removeValue` or
  /// `self[key] = nil` is right.
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
  /// The first element; `value` where there is none, which is recorded as `unwrap`.
  ///
  /// In place of `first!`, which ends the process.
  @inlinable
  public func shieldedFirst(
    or value: @autoclosure () -> Element, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Element {
    first.shielded(or: value(), fileID: fileID, line: line)
  }
}

extension Character {
  /// The character that a text is; `character` where it has none or several, which is recorded as `conversion`.
  ///
  /// In place of `Character(text)`, which ends the process for an empty text.
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
  Shield.handleFault(.mutation, at: ShieldSite(fileID: fileID, line: line)) { "what a \(Collection.self) has not" }
}

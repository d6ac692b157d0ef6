public import CrashShield

extension Optional {
  /// The value; `value` if it is nil, which is recorded as `unwrap`.
  ///
  /// In place of `!`, which ends the process. `off` and `observe`: as `!`.
  ///
  /// ```swift
  /// let port = Int(text).shielded(or: 8080)
  /// ```
  @inlinable
  public func shielded(
    or value: @autoclosure () -> Wrapped, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Wrapped {
    if let self { return self }
    // The trap of the plain operation is intended here.
    // swift-format-ignore: NeverForceUnwrap
    guard handleNil(Wrapped.self, fileID, line) else { return self! }
    return kept(value())
  }

  /// The value itself; nil is recorded as `unwrap`.
  ///
  /// In place of `!`, in a function that can fail in its own way. `off` and `observe`: as `!`.
  ///
  /// ```swift
  /// guard let length = Int(text).shielded() else { throw ParseError.length }
  /// ```
  @inlinable
  public func shielded(fileID: StaticString = #fileID, line: UInt = #line) -> Wrapped? {
    if self != nil { return self }
    // The trap of the plain operation is intended here.
    // swift-format-ignore: NeverForceUnwrap
    guard handleNil(Wrapped.self, fileID, line) else { return self! }
    return nil
  }

  /// The value; nil throws `ShieldFault.missing`, and is recorded as `unwrap`.
  @inlinable
  public func shieldedUnwrap(
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws(ShieldFault) -> Wrapped {
    if let self { return self }
    // The trap of the plain operation is intended here.
    // swift-format-ignore: NeverForceUnwrap
    guard handleNil(Wrapped.self, fileID, line) else { return self! }
    throw .missing("\(Wrapped.self)")
  }
}

@inline(never)
@usableFromInline
func handleNil<Wrapped>(_: Wrapped.Type, _ fileID: StaticString, _ line: UInt) -> Bool {
  Shield.handleFault(.unwrap, at: ShieldSite(fileID: fileID, line: line)) { "nil where a \(Wrapped.self) was expected" }
}

public import CrashShield

extension Optional {
  /// Returns the wrapped value; if it is nil, returns `value` and records the fault as `unwrap`.
  ///
  /// Replaces `!`, which ends the process in this case. Under `off` and `observe`, the guard behaves like `!`.
  ///
  /// ```swift
  /// let port = Int(text).shielded(or: 8080)
  /// ```
  @inlinable
  public func shielded(
    or value: @autoclosure () -> Wrapped, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Wrapped {
    if let self { return self }
    // The guard mode is not `absorb`: trap as the plain operation does.
    // swift-format-ignore: NeverForceUnwrap
    guard handleNil(Wrapped.self, fileID, line) else { return self! }
    return kept(value())
  }

  /// Returns the optional itself; nil is recorded as `unwrap`.
  ///
  /// Replaces `!` in a function that can handle nil in its own way. Under `off` and `observe`, the guard behaves like
  /// `!`.
  ///
  /// ```swift
  /// guard let length = Int(text).shielded() else { throw ParseError.length }
  /// ```
  @inlinable
  public func shielded(fileID: StaticString = #fileID, line: UInt = #line) -> Wrapped? {
    if self != nil { return self }
    // The guard mode is not `absorb`: trap as the plain operation does.
    // swift-format-ignore: NeverForceUnwrap
    guard handleNil(Wrapped.self, fileID, line) else { return self! }
    return nil
  }

  /// Returns the wrapped value; if it is nil, throws `ShieldFault.missing` and records the fault as `unwrap`.
  @inlinable
  public func shieldedUnwrap(
    fileID: StaticString = #fileID, line: UInt = #line
  ) throws(ShieldFault) -> Wrapped {
    if let self { return self }
    // The guard mode is not `absorb`: trap as the plain operation does.
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

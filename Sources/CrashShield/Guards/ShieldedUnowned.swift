/// A reference that does not keep its object, in place of `unowned`, which ends the process when the object has gone.
///
/// ```swift
/// let server = ShieldedUnowned(self)
/// timer.setEventHandler { server.with(or: ()) { $0.tick() } }
/// ```
///
/// That it has gone is recorded as `reference`; nothing traps, whatever the mode, since there is nothing to trap with.
public struct ShieldedUnowned<Object: AnyObject & Sendable>: Sendable {
  @usableFromInline
  final class Weak: Sendable {
    @usableFromInline weak let object: Object?
    init(_ object: Object) { self.object = object }
  }

  @usableFromInline let reference: Weak

  /// Refers to this object.
  public init(_ object: Object) { reference = Weak(object) }

  /// The object; nil where it has gone, which is recorded.
  @inlinable
  public func object(fileID: StaticString = #fileID, line: UInt = #line) -> Object? {
    if let object = reference.object { return object }
    noteGone(Object.self, fileID, line)
    return nil
  }

  /// What the body makes of the object, which lives as long; `value` where it has gone, which is recorded.
  @inlinable
  public func with<Result, Failure: Error>(
    or value: @autoclosure () -> Result, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (Object) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let object = object(fileID: fileID, line: line) else { return value() }
    return try body(object)
  }
}

@inline(never)
@usableFromInline
func noteGone<Object>(_: Object.Type, _ fileID: StaticString, _ line: UInt) {
  Shield.notes(.reference, at: ShieldSite(fileID: fileID, line: line)) { "a \(Object.self) that has gone" }
}

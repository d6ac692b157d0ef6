internal import CrashShield

/// An unowned reference, in place of `unowned`, which ends the process at an access to a deallocated object.
///
/// ```swift
/// let server = ShieldedUnowned(self)
/// timer.setEventHandler { server.with(or: ()) { $0.tick() } }
/// ```
///
/// An access to a deallocated object is recorded as `reference`. `off` and `observe`: as `unowned`, with the same
/// signal. Any thread; the memory of a deallocated object, without what it held, stays allocated while a reference to
/// it exists.
public struct ShieldedUnowned<Object: AnyObject & Sendable>: Sendable {
  @usableFromInline
  final class Reference: Sendable {
    @usableFromInline weak let object: Object?
    /// The plain operation, for the modes that perform it.
    unowned let plain: Object

    init(_ object: Object) {
      self.object = object
      plain = object
    }
  }

  @usableFromInline let reference: Reference

  /// Creates a reference to this object.
  public init(_ object: Object) { reference = Reference(object) }

  /// The object; nil if it was deallocated, which is recorded.
  @inlinable
  public func object(fileID: StaticString = #fileID, line: UInt = #line) -> Object? {
    if let object = reference.object { return object }
    return gone(fileID, line)
  }

  /// Calls the body with the object, which stays alive meanwhile; returns `value` if it was deallocated, which is
  /// recorded.
  @inlinable
  public func with<Result, Failure: Error>(
    or value: @autoclosure () -> Result, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: (Object) throws(Failure) -> Result
  ) throws(Failure) -> Result {
    guard let object = object(fileID: fileID, line: line) else { return value() }
    return try body(object)
  }

  @inline(never)
  @usableFromInline
  func gone(_ fileID: StaticString, _ line: UInt) -> Object? {
    let isAbsorbed = Shield.handleFault(.reference, at: ShieldSite(fileID: fileID, line: line)) {
      "a \(Object.self) that has gone"
    }
    return isAbsorbed ? nil : reference.plain
  }
}

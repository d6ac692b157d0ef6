internal import CrashShield

/// An unowned reference that detects a deallocated object; a plain `unowned` reference to it would end the process.
///
/// ```swift
/// let server = ShieldedUnowned(self)
/// timer.setEventHandler { server.with(or: ()) { $0.tick() } }
/// ```
///
/// An access to a deallocated object is recorded as `reference`. Under `off` and `observe` the process ends at this
/// access, with the same signal as for `unowned`. May be used from any thread. While the reference exists, the memory
/// of the deallocated object stays allocated, but the objects that it referred to are released.
public struct ShieldedUnowned<Object: AnyObject & Sendable>: Sendable {
  @usableFromInline
  final class Reference: Sendable {
    @usableFromInline weak let object: Object?
    /// The plain reference, which the modes `off` and `observe` use.
    unowned let plain: Object

    init(_ object: Object) {
      self.object = object
      plain = object
    }
  }

  @usableFromInline let reference: Reference

  /// Creates a reference to this object.
  public init(_ object: Object) { reference = Reference(object) }

  /// Returns the object; if the object was deallocated, returns nil and records the access.
  @inlinable
  public func object(fileID: StaticString = #fileID, line: UInt = #line) -> Object? {
    if let object = reference.object { return object }
    return gone(fileID, line)
  }

  /// Calls the body with the object; if the object was deallocated, returns `value` and records the access.
  ///
  /// The object stays alive during the call.
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
      "a \(Object.self) that was deallocated"
    }
    return isAbsorbed ? nil : reference.plain
  }
}

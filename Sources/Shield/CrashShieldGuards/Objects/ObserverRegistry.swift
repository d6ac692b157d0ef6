internal import CrashShield
internal import Synchronization

/// A registry of observers of an object's properties; replaces key-value observing, which does not exist on Linux.
///
/// Adding an observer twice for a property, or removing an observer that was not added, changes nothing and is recorded
/// as `observation`. The registry does not retain observers, and removes deallocated observers. The registry calls the
/// observers' functions without holding a lock, and these functions are allowed to add and remove observers. Under
/// `off` and `observe`, an observer that was added twice is called twice. May be used from any thread.
///
/// ```swift
/// registry.add(self, for: \Cart.count) { label, count in label.show(count) }
/// registry.notify(\.count, cart.count)
/// ```
public final class ObserverRegistry<Subject>: Sendable {
  private struct Entry: Sendable {
    weak let observer: (any AnyObject & Sendable)?
    /// Calls the observer's function; returns false if the observer was deallocated.
    let call: @Sendable (any Sendable) -> Bool
  }

  /// Sendable: key paths are immutable, although `AnyKeyPath` is not declared as Sendable.
  private struct Path: @unchecked Sendable, Hashable {
    var path: AnyKeyPath
  }

  private let entries = Mutex<[Path: [Entry]]>([:])

  /// Creates a registry without observers.
  public init() {}

  /// Adds an observer of a property.
  ///
  /// - Returns: Whether the observer was added.
  @discardableResult
  public func add<Observer: AnyObject & Sendable, Value: Sendable>(
    _ observer: Observer, for path: KeyPath<Subject, Value>, fileID: StaticString = #fileID, line: UInt = #line,
    _ body: @escaping @Sendable (Observer, Value) -> Void
  ) -> Bool {
    let entry = Entry(observer: observer) { [weak observer] value in
      guard let observer else { return false }
      if let value = value as? Value { body(observer, value) }
      return true
    }
    let key = Path(path: path)
    if insert(entry, of: observer, at: key, isTwiceAllowed: false) { return true }
    let isAbsorbed = Shield.handleFault(.observation, at: ShieldSite(fileID: fileID, line: line)) {
      "a \(Observer.self) added twice for a property of \(Subject.self)"
    }
    return isAbsorbed ? false : insert(entry, of: observer, at: key, isTwiceAllowed: true)
  }

  /// Removes an observer of a property.
  ///
  /// - Returns: Whether the observer was registered.
  @discardableResult
  public func remove<Observer: AnyObject & Sendable>(
    _ observer: Observer, for path: PartialKeyPath<Subject>, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool {
    let key = Path(path: path)
    let isRemoved = locked { entries in
      guard var list = entries[key], list.contains(where: { $0.observer === observer }) else { return false }
      list.removeAll { $0.observer === observer || $0.observer == nil }
      entries[key] = list.isEmpty ? nil : list
      return true
    }
    if !isRemoved {
      Shield.recordFault(.observation, at: ShieldSite(fileID: fileID, line: line)) {
        "a \(Observer.self) removed that was not added for a property of \(Subject.self)"
      }
    }
    return isRemoved
  }

  /// Calls the observers of a property, in the order in which they were added.
  public func notify<Value: Sendable>(_ path: KeyPath<Subject, Value>, _ value: Value) {
    let key = Path(path: path)
    let list = locked { $0[key] ?? [] }
    var hasGone = false
    for entry in list where !entry.call(value) { hasGone = true }
    guard hasGone else { return }
    locked { entries in
      entries[key]?.removeAll { $0.observer == nil }
      if entries[key]?.isEmpty == true { entries[key] = nil }
    }
  }

  /// The number of observers of all properties.
  public var count: Int {
    locked { entries in entries.values.reduce(0) { $0 + $1.count { $0.observer != nil } } }
  }

  /// Calls `body` with the lock held; a trap in it ends the process, even in isolated work (`holding`).
  ///
  /// `body` can run code of the program, because it compares key paths and can release objects.
  private func locked<Result>(_ body: (inout sending [Path: [Entry]]) -> sending Result) -> Result {
    holding { entries.withLock(body) }
  }

  private func insert(_ entry: Entry, of observer: AnyObject, at key: Path, isTwiceAllowed: Bool) -> Bool {
    locked { entries in
      var list = entries[key, default: []]
      list.removeAll { $0.observer == nil }
      let isThere = list.contains { $0.observer === observer }
      if !isThere || isTwiceAllowed { list.append(entry) }
      entries[key] = list
      return !isThere || isTwiceAllowed
    }
  }
}

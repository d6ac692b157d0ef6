/// An object whose properties can be observed through a registry.
public protocol ShieldedSubject: AnyObject {
  /// The observers of its properties.
  var observers: ObserverRegistry<Self> { get }
}

/// A property that notifies the observers of its object of each change.
///
/// In place of a property that is observed by key paths elsewhere, and of calls of `notify` that are easy to forget.
///
/// ```swift
/// final class Cart: ShieldedSubject {
///   let observers = ObserverRegistry<Cart>()
///   @Shielded var count = 0
/// }
/// cart.observers.add(label, for: \.count) { label, count in label.show(count) }
/// ```
///
/// Observers are called after the change, on the thread that made it, also if the value is the same. The property is no
/// safer for several threads than a plain one. Some tenths of a microsecond: it uses key paths.
@propertyWrapper
public struct Shielded<Value: Sendable> {
  private var value: Value

  /// Creates a property with this initial value.
  public init(wrappedValue: Value) { value = wrappedValue }

  /// The value, in a type that is no class.
  @available(*, unavailable, message: "a property of a class that is a ShieldedSubject")
  public var wrappedValue: Value {
    get { value }
    set { value = newValue }
  }

  /// The value, in an object.
  public static subscript<Subject: ShieldedSubject>(
    _enclosingInstance subject: Subject, wrapped path: ReferenceWritableKeyPath<Subject, Value>,
    storage storage: ReferenceWritableKeyPath<Subject, Self>
  ) -> Value {
    get { subject[keyPath: storage].value }
    set {
      subject[keyPath: storage].value = newValue
      subject.observers.notify(path, newValue)
    }
  }
}

extension Shielded: Sendable {}

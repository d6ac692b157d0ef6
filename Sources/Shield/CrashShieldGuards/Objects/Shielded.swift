/// An object whose properties can be observed through a registry.
public protocol ShieldedSubject: AnyObject {
  /// The observers of the object's properties.
  var observers: ObserverRegistry<Self> { get }
}

/// A property that notifies the observers of its object of each change.
///
/// Replaces key-value observing of a property, and explicit calls of `notify`, which are easy to forget.
///
/// ```swift
/// final class Cart: ShieldedSubject {
///   let observers = ObserverRegistry<Cart>()
///   @Shielded var count = 0
/// }
/// cart.observers.add(label, for: \.count) { label, count in label.show(count) }
/// ```
///
/// Observers are called after each assignment, on the assigning thread, even if the value is the same. Like a plain
/// property, the property must not be used from several threads at once. An assignment takes some tenths of a
/// microsecond, because it uses key paths.
@propertyWrapper
public struct Shielded<Value: Sendable> {
  private var value: Value

  /// Creates a property with this initial value.
  public init(wrappedValue: Value) { value = wrappedValue }

  /// The value of a property that is not in a class; not available.
  @available(*, unavailable, message: "a property of a class that is a ShieldedSubject")
  public var wrappedValue: Value {
    get { value }
    set { value = newValue }
  }

  /// The value of a property of an object.
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

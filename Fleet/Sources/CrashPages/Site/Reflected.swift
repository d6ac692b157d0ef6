internal import Mustache

/// A value of a view that remembers its fields, so that swift-mustache finds them faster.
///
/// For each name in a template, swift-mustache creates a `Mirror` of the current value, and then one of each enclosing
/// value until a value has the name. This took most of the time of building a page. A `Reflected` value creates one
/// `Mirror`.
final class Reflected: MustacheParent {
  private let value: Any
  private lazy var fields = Dictionary(
    Mirror(reflecting: value).children.compactMap { field in field.label.map { ($0, field.value) } },
    uniquingKeysWith: { first, _ in first })
  private var children: [String: Any] = [:]

  init(_ value: Any) { self.value = value }

  /// Returns a field; nil if there is none, or if the field is nil.
  func child(named name: String) -> Any? {
    if let child = children[name] { return child }
    guard let child = fields[name].flatMap(Self.reflected) else { return nil }
    children[name] = child
    return child
  }

  private static func reflected(_ value: Any) -> Any? {
    let mirror = Mirror(reflecting: value)
    switch mirror.displayStyle {
    case .optional: return mirror.children.first.flatMap { reflected($0.value) }
    case .collection: return mirror.children.compactMap { reflected($0.value) }
    // The description of a figure is its text in the template.
    case .struct: return value is any CustomStringConvertible ? value : Reflected(value)
    default: return value
    }
  }
}

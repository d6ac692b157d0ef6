public import Foundation

/// JSON whose values are nil where they are not as expected.
///
/// In place of `json["user"]! as! [String: Any]` and the like, which end the process. Navigating to a value records
/// nothing; reading the value makes one record, with the path and the obstacle. A missing value is recorded as
/// `missingValue`, a null as `null`, another type as `cast`. A conversion between text and number or boolean is
/// recorded as `cast` too; it happens only where nothing is lost (42 to "42", "42" to 42; not "3.5" to an integer).
///
/// ```swift
/// let json = try ShieldedJSON(data: body)
/// let city = json.user.address.city.string(or: "")
/// let tags = json.user.tags.array()?.compactMap { $0.string() } ?? []   // without those that are none
/// ```
///
/// Records show the keys that the program names: read untrusted keys with `object()`, whose keys records do not show.
/// For a key that is a member of this type write `json["string"]`. As with a plain cast, JSON's 1 is true, and true is
/// 1, without a record. `off` and `observe`: as `!` for a missing value, else as `as!`.
///
/// It is a copy, made in time proportional to its source, and can be sent to any thread.
@dynamicMemberLookup
public struct ShieldedJSON: Sendable {
  let found: JSONNode
  let path: JSONPath

  /// Copies the result of `JSONSerialization`: dictionaries, arrays, texts, numbers, booleans, `NSNull`.
  ///
  /// Any other value, and any value deeper than 128 levels, has a type that no read accepts.
  public init(_ value: Any?) { self.init(JSONNode(value), JSONPath()) }

  /// Parses JSON, also a scalar at the top; throws the errors of `JSONSerialization`.
  public init(data: Data) throws {
    self.init(try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed))
  }

  init(_ found: JSONNode, _ path: JSONPath) {
    self.found = found
    self.path = path
  }

  /// The value of a key.
  public subscript(dynamicMember key: String) -> ShieldedJSON { self[key] }

  /// The value of a key.
  public subscript(key: String) -> ShieldedJSON {
    if case .object(let members) = found { return ShieldedJSON(members[key] ?? .missing, path.going(.key(key))) }
    return ShieldedJSON(found, path.stopping(.key(key)))
  }

  /// The element at a position.
  public subscript(position: Int) -> ShieldedJSON {
    if case .list(let elements) = found {
      let element = elements.indices.contains(position) ? elements[position] : .missing
      return ShieldedJSON(element, path.going(.position(position)))
    }
    return ShieldedJSON(found, path.stopping(.position(position)))
  }

  /// Whether the value exists and is not null; records nothing.
  public var isPresent: Bool {
    switch found {
    case .missing, .null: false
    default: !path.isStopped
    }
  }
}

/// The path to a value, and the steps beyond it that do not exist.
///
/// With steps beyond it, the value is the last one that exists.
struct JSONPath: Sendable {
  enum Step: Sendable {
    case key(String)
    case anyKey
    case position(Int)
  }

  /// The container that the next step needs.
  enum Wanted: String {
    case array = "an array"
    case object = "an object"
  }

  private var steps: [Step] = []
  // nil: all of them.
  private var reached: Int?

  var isStopped: Bool { reached != nil }

  /// The container that the failed step needed.
  var wanted: Wanted? {
    guard let reached else { return nil }
    if case .position = steps[reached] { return .array }
    return .object
  }

  /// Such as `user.tags[2]`.
  var description: String {
    guard let reached else { return Self.text(steps[...]) }
    return "\(Self.text(steps[...])): \(Self.text(steps[..<reached]))"
  }

  func going(_ step: Step) -> JSONPath {
    var path = self
    path.steps.append(step)
    return path
  }

  func stopping(_ step: Step) -> JSONPath {
    var path = going(step)
    path.reached = reached ?? steps.count
    return path
  }

  private static func text(_ steps: ArraySlice<Step>) -> String {
    var text = ""
    for step in steps {
      switch step {
      case .key(let key): text += text.isEmpty ? key : ".\(key)"
      case .anyKey: text += text.isEmpty ? "*" : ".*"
      case .position(let position): text += "[\(position)]"
      }
    }
    return text.isEmpty ? "the whole" : text
  }
}

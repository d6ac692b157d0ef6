public import Foundation

/// A JSON document whose values are nil if they are missing or have another type than expected.
///
/// Replaces expressions such as `json["user"]! as! [String: Any]`, which end the process for unexpected values.
/// Navigating to a value does not record anything. Reading an unexpected value records one incident, with the path and
/// the value's type. A missing value is recorded as `missingValue`, a null as `null`, and another type as `cast`. A
/// conversion between a string and a number or boolean is also recorded as `cast`. Only lossless conversions are made:
/// 42 to "42" and "42" to 42, but not "3.5" to an integer.
///
/// ```swift
/// let json = try ShieldedJSON(data: body)
/// let city = json.user.address.city.string(or: "")
/// let tags = json.user.tags.array()?.compactMap { $0.string() } ?? []   // without elements that are not strings
/// ```
///
/// Records show the keys that the program's code names. Read untrusted keys with `object()`: records do not show its
/// keys. If a key is also the name of a member of this type, write `json["string"]`. As with a plain cast, JSON's 1 can
/// be read as true, and true as 1. These reads are not recorded. Under `off` and `observe`, a missing value behaves as
/// with `!`, and another unexpected value as with `as!`.
///
/// The document is a copy of its source and can be sent to any thread. Copying takes time proportional to the size of
/// the source.
@dynamicMemberLookup
public struct ShieldedJSON: Sendable {
  let found: JSONNode
  let path: JSONPath

  /// Copies the result of `JSONSerialization`: dictionaries, arrays, strings, numbers, booleans, `NSNull`.
  ///
  /// Values of other types, and values nested deeper than 128 levels, are always unexpected values.
  public init(_ value: Any?) { self.init(JSONNode(value), JSONPath()) }

  /// Parses JSON, also with a scalar at the top level; throws the errors of `JSONSerialization`.
  public init(data: Data) throws {
    self.init(try JSONSerialization.jsonObject(with: data, options: .fragmentsAllowed))
  }

  init(_ found: JSONNode, _ path: JSONPath) {
    self.found = found
    self.path = path
  }

  /// The member with a key; missing if the receiver is not an object, or has no such key.
  public subscript(dynamicMember key: String) -> ShieldedJSON { self[key] }

  /// The member with a key; missing if the receiver is not an object, or has no such key.
  public subscript(key: String) -> ShieldedJSON {
    if case .object(let members) = found { return ShieldedJSON(members[key] ?? .missing, path.going(.key(key))) }
    return ShieldedJSON(found, path.stopping(.key(key)))
  }

  /// The element at an index.
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

/// The path to a value; the document can lack the last steps of the path.
///
/// If some steps do not exist, the path refers to the last existing value.
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
  // The number of existing steps; nil if all steps exist.
  private var reached: Int?

  var isStopped: Bool { reached != nil }

  /// The container that the failed step needed.
  var wanted: Wanted? {
    guard let reached else { return nil }
    if case .position = steps[reached] { return .array }
    return .object
  }

  /// The path as text, such as `user.tags[2]`.
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
    return text.isEmpty ? "the root value" : text
  }
}

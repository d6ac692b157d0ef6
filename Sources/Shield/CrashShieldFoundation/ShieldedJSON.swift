public import Foundation

/// JSON that answers nil where it is not as expected.
///
/// In place of `json["user"]! as! [String: Any]` and the like, which end the process. The way to a value records nothing; who asks for
/// the value does: one record, with the path and with what stood in its way. Nothing there is recorded as `missingValue`, a null
/// as `null`, another type as `cast`. So is a conversion between texts and numbers or truths, which is done where nothing is
/// lost (42 to "42", "42" to 42; not "3.5" to an integer).
///
/// ```swift
/// let json = try ShieldedJSON(data: body)
/// let city = json.user.address.city.string(or: "")
/// let tags = json.user.tags.array()?.compactMap { $0.string() } ?? []   // without those that are none
/// ```
///
/// Records show the keys that the program asks for: for keys that come from outside ask `object()`, whose keys they do not show.
/// A key that is a name of this type is `json["string"]`. As with a plain cast, JSON's 1 is true, and true is 1, without a
/// record. `off` and `observe`: as `!` where nothing is there, else as `as!`.
///
/// It is a copy, made in time in proportion to what it is made from, and can go to any thread.
@dynamicMemberLookup
public struct ShieldedJSON: Sendable {
  let found: JSONNode
  let path: JSONPath

  /// Takes what `JSONSerialization` makes: dictionaries, arrays, texts, numbers, truths, `NSNull`.
  ///
  /// Anything else is of another type than whatever is asked for; so is what lies deeper than 128 levels.
  public init(_ value: Any?) { self.init(JSONNode(value), JSONPath()) }

  /// Reads a text of JSON, also that of a scalar alone; throws what `JSONSerialization` throws.
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

  /// Whether there is a value that is not null; nothing is recorded.
  public var isPresent: Bool {
    switch found {
    case .missing, .null: false
    default: !path.isStopped
    }
  }
}

/// How one came to a value, and which steps beyond it were asked for.
///
/// A value that has no steps beyond stays the value that was found.
struct JSONPath: Sendable {
  enum Step: Sendable {
    case key(String)
    case anyKey
    case position(Int)
  }

  /// What is needed to go on.
  enum Wanted: String {
    case array = "an array"
    case object = "an object"
  }

  private var steps: [Step] = []
  // nil: all of them.
  private var reached: Int?

  var isStopped: Bool { reached != nil }

  /// What would have been needed to go on.
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

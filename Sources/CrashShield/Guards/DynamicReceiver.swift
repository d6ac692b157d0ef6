/// Sends messages by name, and answers those that its receiver does not know with nil.
///
/// What a message to an object that does not respond to it is elsewhere. Swift has none; this is for programs that take names
/// of operations from outside, such as commands. An unknown name is recorded as `message`, with the class and the name.
///
/// ```swift
/// let door = DynamicReceiver(door, methods: ["open": { door, _ in door.open() }])
/// door.open()
/// ```
@dynamicMemberLookup
public struct DynamicReceiver<Base: AnyObject> {
  /// What answers a message.
  public typealias Method = (Base, [Any?]) -> Any?

  /// Who receives them.
  public let base: Base
  private let methods: [String: Method]
  private let site: ShieldSite

  /// Makes a receiver that knows these messages; what it does not know is recorded for this place.
  public init(
    _ base: Base, methods: [String: Method], fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.base = base
    self.methods = methods
    site = ShieldSite(fileID: fileID, line: line)
  }

  /// The message of this name, to be called with its arguments.
  public subscript(dynamicMember name: String) -> DynamicMessage {
    DynamicMessage { [base, method = methods[name], site] arguments in
      if let method { return method(base, arguments) }
      Shield.notes(.message, at: site) { "\(type(of: base)) does not know \(name)" }
      return nil
    }
  }

  /// Whether there is a message of this name.
  public func responds(to name: String) -> Bool { methods[name] != nil }
}

/// A message and its receiver.
@dynamicCallable
public struct DynamicMessage {
  let body: ([Any?]) -> Any?

  /// Sends it.
  @discardableResult
  public func dynamicallyCall(withArguments arguments: [Any?]) -> Any? { body(arguments) }
}

@available(*, unavailable)
extension DynamicReceiver: Sendable {}

@available(*, unavailable)
extension DynamicMessage: Sendable {}

internal import CrashShield
internal import Synchronization

/// Sends messages by name, and returns nil for a name that the receiver does not respond to.
///
/// Use this type in programs that receive names of operations, such as commands, from outside. An unknown name is
/// recorded as `message`, with the class and the name. Each name has a record of its own, up to 64 names in a process,
/// because untrusted input can contain any number of names.
///
/// ```swift
/// let door = DynamicReceiver(door, methods: ["open": { door, _ in door.open() }], counts: ["open": 0])
/// door.open()
/// ```
///
/// Two other faults are also recorded as `message`. The first is a number of arguments that differs from `counts`; the
/// result is nil. The second is a message for strings that is sent to a number, or a message for numbers that is sent
/// to a string. Under `absorb`, the number is converted to a string, or the string to a number, if the conversion is
/// lossless. Under `off` and `observe`, the result is nil.
@dynamicMemberLookup
public struct DynamicReceiver<Base: AnyObject> {
  /// A function that handles a message.
  public typealias Method = (Base, [Any?]) -> Any?

  /// The object or value that receives the messages.
  public let base: Base
  private let methods: [String: Method]
  private let counts: [String: Int]
  private let textMethods: [String: (String, [Any?]) -> Any?]
  private let numberMethods: [String: (Double, [Any?]) -> Any?]
  private let site: ShieldSite

  /// Creates a receiver with these messages; unknown messages are recorded with this call site.
  ///
  /// `counts` maps a message to its expected number of arguments; for other messages, the number is not checked. If
  /// `base` is a number, `textMethods` has the messages for which it is converted to a string. If `base` is a string,
  /// `numberMethods` has the messages for which it is converted to a number.
  public init(
    _ base: Base, methods: [String: Method], counts: [String: Int] = [:],
    textMethods: [String: (String, [Any?]) -> Any?] = [:], numberMethods: [String: (Double, [Any?]) -> Any?] = [:],
    fileID: StaticString = #fileID, line: UInt = #line
  ) {
    self.base = base
    self.methods = methods
    self.counts = counts
    self.textMethods = textMethods
    self.numberMethods = numberMethods
    site = ShieldSite(fileID: fileID, line: line)
  }

  /// Returns the message of this name, which the caller can then send by calling it.
  public subscript(dynamicMember name: String) -> DynamicMessage {
    DynamicMessage { arguments in send(name, arguments) }
  }

  /// Whether there is a message of this name.
  public func responds(to name: String) -> Bool { methods[name] != nil }

  private func send(_ name: String, _ arguments: [Any?]) -> Any? {
    guard let method = methods[name] else { return sendConverted(name, arguments) }
    if let count = counts[name], count != arguments.count {
      note(name) { "\(type(of: base)) takes \(count) arguments of \(name), not \(arguments.count)" }
      return nil
    }
    return method(base, arguments)
  }

  private func sendConverted(_ name: String, _ arguments: [Any?]) -> Any? {
    // The cast also accepts Foundation's strings.
    let isText = (base as Any) is String
    if let method = textMethods[name], !isText, let text = Casts.converted(base, to: String.self) {
      return note(name) { "\(type(of: base)) got \(name), a message for strings" } ? method(text, arguments) : nil
    }
    if let method = numberMethods[name], isText, let number = Casts.converted(base, to: Double.self) {
      return note(name) { "\(type(of: base)) got \(name), a message for numbers" } ? method(number, arguments) : nil
    }
    note(name) { "\(type(of: base)) does not respond to \(name)" }
    return nil
  }

  @discardableResult
  private func note(_ name: String, _ reason: () -> String) -> Bool {
    Shield.handleFault(.message, at: site, apart: MessageNames.number(of: name), reason)
  }
}

/// The table of unknown message names; each name has a number, which distinguishes its record.
private enum MessageNames {
  private static let limit = 64
  private static let numbers = Mutex<[String: UInt]>([:])

  /// Returns the number of a name; 0 if the table is full.
  static func number(of name: String) -> UInt {
    numbers.withLock { numbers in
      if let number = numbers[name] { return number }
      guard numbers.count < limit else { return 0 }
      let number = UInt(numbers.count + 1)
      numbers[name] = number
      return number
    }
  }
}

/// A message and its receiver.
@dynamicCallable
public struct DynamicMessage {
  let body: ([Any?]) -> Any?

  /// Sends the message with the given arguments.
  @discardableResult
  public func dynamicallyCall(withArguments arguments: [Any?]) -> Any? { body(arguments) }
}

@available(*, unavailable)
extension DynamicReceiver: Sendable {}

@available(*, unavailable)
extension DynamicMessage: Sendable {}

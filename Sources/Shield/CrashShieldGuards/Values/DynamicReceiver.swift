internal import CrashShield
internal import Synchronization

/// Sends messages by name, and returns nil for a name that its receiver does not respond to.
///
/// The counterpart of a message to an object that does not respond to it, for programs that take names of operations
/// from outside, such as commands. An unknown name is recorded as `message`, with the class and the name. Each name has
/// a record of its own, up to 64 in a process: untrusted input may contain any number of names.
///
/// ```swift
/// let door = DynamicReceiver(door, methods: ["open": { door, _ in door.open() }], counts: ["open": 0])
/// door.open()
/// ```
///
/// Two more faults are recorded as `message`. One is a number of arguments that differs from `counts`, which returns
/// nil. The other is a message for texts that is sent to a number, or the reverse. Under `absorb` the number is
/// converted to a text, or the text to a number, where nothing is lost; under `off` and `observe` the result is nil.
@dynamicMemberLookup
public struct DynamicReceiver<Base: AnyObject> {
  /// A function that handles a message.
  public typealias Method = (Base, [Any?]) -> Any?

  /// The receiver.
  public let base: Base
  private let methods: [String: Method]
  private let counts: [String: Int]
  private let textMethods: [String: (String, [Any?]) -> Any?]
  private let numberMethods: [String: (Double, [Any?]) -> Any?]
  private let site: ShieldSite

  /// Creates a receiver with these messages; unknown ones are recorded with this call site.
  ///
  /// `counts` has the expected numbers of arguments, for the messages to check; `textMethods` has the messages of a
  /// text, for a `base` that is a number; `numberMethods` those of a number, for a `base` that is a text.
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

  /// The message of this name, ready to be called.
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
    // Foundation's texts cast to Swift's `String`.
    let isText = (base as Any) is String
    if let method = textMethods[name], !isText, let text = Casts.converted(base, to: String.self) {
      return note(name) { "\(type(of: base)) was sent \(name) of a text" } ? method(text, arguments) : nil
    }
    if let method = numberMethods[name], isText, let number = Casts.converted(base, to: Double.self) {
      return note(name) { "\(type(of: base)) was sent \(name) of a number" } ? method(number, arguments) : nil
    }
    note(name) { "\(type(of: base)) does not know \(name)" }
    return nil
  }

  @discardableResult
  private func note(_ name: String, _ reason: () -> String) -> Bool {
    Shield.handleFault(.message, at: site, apart: MessageNames.number(of: name), reason)
  }
}

/// The names that distinguish faults.
private enum MessageNames {
  private static let limit = 64
  private static let numbers = Mutex<[String: UInt]>([:])

  /// The number of a name; 0 if the table is full.
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

  /// Sends it.
  @discardableResult
  public func dynamicallyCall(withArguments arguments: [Any?]) -> Any? { body(arguments) }
}

@available(*, unavailable)
extension DynamicReceiver: Sendable {}

@available(*, unavailable)
extension DynamicMessage: Sendable {}

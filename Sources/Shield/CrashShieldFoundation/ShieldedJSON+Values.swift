internal import CrashShield
internal import CrashShieldGuards

extension ShieldedJSON {
  /// Returns the value as a string; nil if it is not a string and cannot be converted.
  ///
  /// A number or boolean is converted to a string, and the conversion is recorded.
  public func string(fileID: StaticString = #fileID, line: UInt = #line) -> String? {
    value(plain: String.self, fileID, line) { if case .text(let text) = $0 { text } else { nil } }
  }

  /// Returns the value as an integer; nil if it is not an integer and cannot be converted.
  ///
  /// A string that contains an integer is converted, and the conversion is recorded. The number 3.0 is an integer, 3.5
  /// is not.
  public func int(fileID: StaticString = #fileID, line: UInt = #line) -> Int? {
    value(plain: Int.self, fileID, line) { node in
      switch node {
      case .integer(let number): number
      case .fraction(let number): Int(exactly: number)
      case .flag(let flag): flag ? 1 : 0
      default: nil
      }
    }
  }

  /// Returns the value as a number; nil if it is not a number and cannot be converted.
  ///
  /// A string that contains a number is converted, and the conversion is recorded. A number with more digits than a
  /// `Double` can hold becomes the nearest `Double`.
  public func double(fileID: StaticString = #fileID, line: UInt = #line) -> Double? {
    value(plain: Double.self, fileID, line) { node in
      switch node {
      case .fraction(let number), .near(let number): number
      case .integer(let number): Double(number)
      case .flag(let flag): flag ? 1 : 0
      default: nil
      }
    }
  }

  /// Returns the value as a boolean; nil if it is not a boolean and cannot be converted.
  ///
  /// The strings "true" and "false" are converted, and the conversion is recorded.
  public func bool(fileID: StaticString = #fileID, line: UInt = #line) -> Bool? {
    value(plain: Bool.self, fileID, line) { node in
      switch node {
      case .flag(let flag): flag
      case .integer(0), .fraction(0): false
      case .integer(1), .fraction(1): true
      default: nil
      }
    }
  }

  /// Returns the elements; nil if the value is not an array.
  public func array(fileID: StaticString = #fileID, line: UInt = #line) -> [ShieldedJSON]? {
    value(plain: [Any].self, fileID, line) { node in
      guard case .list(let elements) = node else { return nil }
      return elements.enumerated().map { ShieldedJSON($1, path.going(.position($0))) }
    }
  }

  /// Returns the members; nil if the value is not an object.
  ///
  /// Records show the keys of these members as `*`.
  public func object(fileID: StaticString = #fileID, line: UInt = #line) -> [String: ShieldedJSON]? {
    value(plain: [String: Any].self, fileID, line) { node in
      guard case .object(let members) = node else { return nil }
      return members.mapValues { ShieldedJSON($0, path.going(.anyKey)) }
    }
  }

  /// Returns the string, or `value` if there is none.
  public func string(
    or value: @autoclosure () -> String, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String { string(fileID: fileID, line: line) ?? value() }

  /// Returns the integer, or `value` if there is none.
  public func int(
    or value: @autoclosure () -> Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Int { int(fileID: fileID, line: line) ?? value() }

  /// Returns the number, or `value` if there is none.
  public func double(
    or value: @autoclosure () -> Double, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Double { double(fileID: fileID, line: line) ?? value() }

  /// Returns the boolean, or `value` if there is none.
  public func bool(
    or value: @autoclosure () -> Bool, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool { bool(fileID: fileID, line: line) ?? value() }

  /// Returns the result of `read`.
  ///
  /// If the result is nil, records the fault and returns the converted value or nil.
  private func value<Plain, Value>(
    plain: Plain.Type, _ fileID: StaticString, _ line: UInt, _ read: (JSONNode) -> Value?
  ) -> Value? {
    if !path.isStopped, let value = read(found) { return value }
    let isAbsorbed = Shield.handleFault(kind, at: ShieldSite(fileID: fileID, line: line)) {
      "\(path.description) is \(found.name) where \(path.wanted?.rawValue ?? "\(Plain.self)") was expected"
    }
    if !isAbsorbed { found.end(on: path, as: plain) }
    if path.isStopped { return nil }
    return found.scalar.flatMap { Casts.converted($0, to: Value.self) }
  }

  private var kind: ShieldKind {
    switch found {
    case .missing: .missingValue
    case .null: .null
    default: .cast
    }
  }
}

extension JSONNode {
  /// Ends the process with the same trap as code without a guard would for this value.
  @inline(never)
  fileprivate func end<Plain>(on path: JSONPath, as _: Plain.Type) {
    // The guard mode is not `absorb`: perform the plain operations, which trap.
    // swift-format-ignore: NeverForceUnwrap
    let value = plain!
    switch path.wanted {
    case .array:
      // swift-format-ignore: NeverForceUnwrap
      _ = value as! [Any]
    case .object:
      // swift-format-ignore: NeverForceUnwrap
      _ = value as! [String: Any]
    case nil:
      // swift-format-ignore: NeverForceUnwrap
      _ = value as! Plain
    }
  }
}

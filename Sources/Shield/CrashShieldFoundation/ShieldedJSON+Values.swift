internal import CrashShield
internal import CrashShieldGuards

extension ShieldedJSON {
  /// The text; nil where there is none.
  ///
  /// A number or a truth is converted, which is recorded, too.
  public func string(fileID: StaticString = #fileID, line: UInt = #line) -> String? {
    value(plain: String.self, fileID, line) { if case .text(let text) = $0 { text } else { nil } }
  }

  /// The integer; nil where there is none.
  ///
  /// A text of one is converted, which is recorded, too; 3.0 is one, 3.5 is none.
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

  /// The number; nil where there is none.
  ///
  /// A text of one is converted, which is recorded, too. Of more digits than a `Double` has it is the nearest.
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

  /// The truth; nil where there is none.
  ///
  /// The texts "true" and "false" are converted, which is recorded, too.
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

  /// The elements; nil where there is no array.
  public func array(fileID: StaticString = #fileID, line: UInt = #line) -> [ShieldedJSON]? {
    value(plain: [Any].self, fileID, line) { node in
      guard case .list(let elements) = node else { return nil }
      return elements.enumerated().map { ShieldedJSON($1, path.going(.position($0))) }
    }
  }

  /// The members; nil where there is no object.
  ///
  /// Records show their keys as `*`.
  public func object(fileID: StaticString = #fileID, line: UInt = #line) -> [String: ShieldedJSON]? {
    value(plain: [String: Any].self, fileID, line) { node in
      guard case .object(let members) = node else { return nil }
      return members.mapValues { ShieldedJSON($0, path.going(.anyKey)) }
    }
  }

  /// The text, or `value` where there is none.
  public func string(
    or value: @autoclosure () -> String, fileID: StaticString = #fileID, line: UInt = #line
  ) -> String { string(fileID: fileID, line: line) ?? value() }

  /// The integer, or `value` where there is none.
  public func int(
    or value: @autoclosure () -> Int, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Int { int(fileID: fileID, line: line) ?? value() }

  /// The number, or `value` where there is none.
  public func double(
    or value: @autoclosure () -> Double, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Double { double(fileID: fileID, line: line) ?? value() }

  /// The truth, or `value` where there is none.
  public func bool(
    or value: @autoclosure () -> Bool, fileID: StaticString = #fileID, line: UInt = #line
  ) -> Bool { bool(fileID: fileID, line: line) ?? value() }

  /// The result of `read`; if that is nil, the converted value or nil, and a record.
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
  /// Ends the process, as a program without guards does at such a value.
  @inline(never)
  fileprivate func end<Plain>(on path: JSONPath, as _: Plain.Type) {
    // The traps of the plain operations are intended here.
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

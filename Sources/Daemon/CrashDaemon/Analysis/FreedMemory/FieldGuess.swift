import CrashReport
import CrashRing
import CrashSymbols

/// Guesses the field whose access dereferenced a null pointer.
///
/// The guess uses the variables in scope at the fault, their types from the debug information, and their values in the
/// record. There is no result if the pointer was never in a variable, or if the variable is out of scope.
struct FieldGuess {
  private let scope: ScopeDescription
  private let facts: CrashFacts
  /// The depth of nested values at which the search for null pointers stops.
  ///
  /// The limit exists because a damaged type description can contain a cycle.
  private static let depthLimit = 8
  /// The maximum size of a value that has no members and is not an array, such as a number.
  private static let plainBytes: UInt64 = 16
  /// The maximum number of fields that are collected for one type.
  private static let fieldLimit = 4_096

  init(_ scope: ScopeDescription, _ facts: CrashFacts) {
    self.scope = scope
    self.facts = facts
  }

  /// The accessed field; nil if no variable explains the fault, or if variables of different types explain the fault.
  ///
  /// A variable with a null pointer explains the fault if the pointer's type has a field at the faulting offset. A null
  /// pointer that is stored inside the value to which a variable points also explains the fault. A pointer whose value
  /// was not recorded is used only if no pointer with a recorded value explains the fault.
  var field: CrashReport.AccessedField? {
    let values = scope.variables.compactMap { variable in value(of: variable).map { (variable, $0) } }
    let nulls = values.filter { isNull($0.1) }
    // A null pointer to a type without fields, such as a number, also explains the fault. In this case, the faulting
    // field remains unknown.
    if facts.record.address < Self.plainBytes, nulls.contains(where: { $0.0.type == nil }) { return nil }
    let direct = nulls.compactMap { variable, value in
      variable.type.flatMap { field(of: $0, at: facts.record.address &- value, through: variable.name) }
    }
    if let guess = Self.common(direct) { return guess }
    guard direct.isEmpty else { return nil }
    let indirect = values.filter { $0.1 >= DiagnosisRule.nullPage }.flatMap { members(of: $0, at: $1) }
    let known = indirect.filter(\.isKnown).map(\.field)
    return Self.common(known) ?? (known.isEmpty ? Self.common(indirect.map(\.field)) : nil)
  }

  private func value(of variable: ScopeDescription.Variable) -> UInt64? {
    guard facts.record.registers.indices.contains(variable.register) else { return nil }
    let value = facts.record.registers[variable.register] &+ variable.offset
    return variable.isMemory ? facts.memory.word(at: value) : value
  }

  /// Whether a pointer with the given value can be the faulting pointer: the value is null or equals the value in the
  /// register of the faulting instruction.
  private func isNull(_ value: UInt64) -> Bool {
    guard value != 0 else { return true }
    guard value < DiagnosisRule.nullPage, let base = facts.operand?.base else { return false }
    return facts.record.registers.indices.contains(base) && facts.record.registers[base] == value
  }

  /// Returns the pointers that are stored in a variable's value and can explain the fault.
  private func members(
    of variable: ScopeDescription.Variable, at start: UInt64
  ) -> [(field: CrashReport.AccessedField, isKnown: Bool)] {
    (variable.type.map(fields) ?? []).compactMap { member in
      guard case .pointer(let type) = member.content else { return nil }
      let value = facts.memory.word(at: start &+ member.offset)
      if let value, !isNull(value) { return nil }
      let name = "\(variable.name).\(member.name)"
      return field(of: type, at: facts.record.address &- (value ?? 0), through: name).map { ($0, value != nil) }
    }
  }

  private func field(of type: Int, at offset: UInt64, through variable: String) -> CrashReport.AccessedField? {
    guard let found = fields(of: type).first(where: { offset &- $0.offset < max(1, $0.size) }) else { return nil }
    return CrashReport.AccessedField(
      name: CleanText.line(found.name), type: CleanText.line(scope.types[type].name),
      variable: CleanText.line(variable), offset: Int(clamping: offset))
  }

  /// Returns the fields of a type, with the fields of its base types and of nested values.
  private func fields(of type: Int) -> [ScopeDescription.Field] {
    var fields: [ScopeDescription.Field] = []
    collect(type, "", 0, 0, &fields)
    return fields
  }

  private func collect(
    _ type: Int, _ prefix: String, _ start: UInt64, _ depth: Int, _ fields: inout [ScopeDescription.Field]
  ) {
    guard scope.types.indices.contains(type), depth < Self.depthLimit else { return }
    for member in scope.types[type].fields where fields.count < Self.fieldLimit {
      var field = member
      field.offset = start &+ member.offset
      field.name = member.name.isEmpty ? prefix : prefix.isEmpty ? member.name : "\(prefix).\(member.name)"
      if case .value(let inner) = member.content {
        collect(inner, field.name, field.offset, depth + 1, &fields)
      } else if !field.name.isEmpty {
        fields.append(field)
      }
    }
  }

  /// Returns the result that all variables have in common; nil if there is no result, or if the results differ.
  private static func common(_ fields: [CrashReport.AccessedField]) -> CrashReport.AccessedField? {
    guard let first = fields.first else { return nil }
    let isCommon = fields.allSatisfy {
      $0.name == first.name && $0.type == first.type && $0.offset == first.offset
    }
    return isCommon ? first : nil
  }
}

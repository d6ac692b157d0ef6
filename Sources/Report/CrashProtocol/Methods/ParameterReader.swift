import CrashReport

/// Reads the parameters of the calls of one method.
///
/// A parameter with the value null is treated as absent.
package struct ParameterReader<Parameters: Decodable>: Sendable {
  private let known: Set<String>

  /// Determines the names of the parameters once, for all later calls.
  package init(_: Parameters.Type) {
    // Determining the names succeeds, because all parameter types have plain fields. The test that compares the methods
    // with the interface file verifies this precondition.
    known = Set(FieldShape.fields(of: Parameters.self)?.map(\.name) ?? [])
  }

  /// Reads the parameters of a call.
  ///
  /// The caller must still check the ranges of the values.
  /// - Throws: `invalidParameter` if a parameter is unknown, has the wrong type, or is required but absent.
  package func read(_ call: VarlinkCall) throws(ProtocolError) -> Parameters {
    let values = (call.parameters ?? [:]).filter { $0.value != .null }
    if let unknown = values.keys.sorted().first(where: { !known.contains($0) }) {
      throw .invalidParameter(String(unknown.prefix(64)))
    }
    do {
      return try Parameters(from: FieldDecoder(source: CallFields(values: values)))
    } catch let error as ProtocolError {
      throw error
    } catch {
      preconditionFailure("BUG: \(Parameters.self) are no parameters: \(error)")
    }
  }
}

private struct CallFields: FieldSource {
  let values: [String: JSONValue]

  func hasValue(_ name: String) -> Bool { values[name] != nil }

  func value(_ name: String, _: FieldShape.Kind) throws -> JSONValue? { values[name] }

  func nested<Value: Decodable>(_ name: String, _ type: Value.Type) throws -> Value {
    if case .string(let text)? = values[name], let word = (type as? any OpenEnum.Type)?.init(rawValue: text) as? Value {
      return word
    }
    guard case .array(let elements)? = values[name] else { throw ProtocolError.invalidParameter(name) }
    var texts: [String] = []
    for element in elements {
      guard case .string(let text) = element else { throw ProtocolError.invalidParameter(name) }
      texts.append(text)
    }
    guard let list = texts as? Value else { throw FieldSourceError.unsupported }
    return list
  }
}

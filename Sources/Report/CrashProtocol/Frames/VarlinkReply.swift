package import FoundationEssentials

/// One reply, as a client receives it.
package struct VarlinkReply<Parameters: Decodable>: Decodable {
  package enum Outcome {
    case parameters(Parameters)
    case error(ProtocolError)
  }

  package var outcome: Outcome
  /// Whether more replies to the same call follow.
  package var continues: Bool

  private enum CodingKeys: CodingKey { case parameters, continues, error }

  package init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    continues = try container.decodeIfPresent(Bool.self, forKey: .continues) ?? false
    if let name = try container.decodeIfPresent(String.self, forKey: .error) {
      let parameters = try container.decodeIfPresent(JSONValue.self, forKey: .parameters)
      var members: [String: JSONValue] = [:]
      if case .object(let some)? = parameters { members = some }
      outcome = .error(ProtocolError(name: name, parameters: members))
    } else {
      outcome = .parameters(try container.decode(Parameters.self, forKey: .parameters))
    }
  }
}

/// Encodes replies as a service sends them: the JSON of a frame, without the NUL byte that ends the frame.
package enum VarlinkReplyText {
  private struct Success<Parameters: Encodable>: Encodable {
    var parameters: Parameters
    var continues: Bool?
  }

  private struct Failure: Encodable {
    var error: String
    var parameters: [String: JSONValue]
  }

  package static func success(_ parameters: some Encodable, continues: Bool = false) throws -> Data {
    // In the replies of a stream, the keys are sorted. The cursor of an event then precedes the report. A client needs
    // the cursor even if the report exceeds the client's limit.
    try FragmentList.json(
      Success(parameters: parameters, continues: continues ? true : nil), continues ? [.sortedKeys] : [])
  }

  package static func failure(_ error: ProtocolError) throws -> Data {
    try FragmentList.json(Failure(error: error.name, parameters: error.parameters), [])
  }
}

/// Empty parameters: `{}`.
public struct NoParameters: Codable, Sendable, Equatable {
  /// Creates the empty parameters.
  public init() {}
}

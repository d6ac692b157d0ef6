public import CrashReport
internal import FoundationEssentials

/// The stack of a crashed thread as its record has it: what stood there when it crashed.
public struct RecordedStack: Decodable, Sendable, Equatable {
  /// The thread.
  public var tid: Int
  /// The lowest address.
  public var start: Address
  /// From there on.
  public var bytes: [UInt8]

  private enum Key: String, CodingKey { case tid, start, bytes }

  /// Reads one.
  /// - Throws: `DecodingError` when it is none, also when its bytes are no base64.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: Key.self)
    tid = try container.decode(Int.self, forKey: .tid)
    start = try container.decode(Address.self, forKey: .start)
    let text = try container.decode(String.self, forKey: .bytes)
    guard let data = Data(base64Encoded: text) else {
      throw DecodingError.dataCorruptedError(forKey: .bytes, in: container, debugDescription: "no base64")
    }
    bytes = Array(data)
  }
}

extension CrashClient {
  /// The stacks of the crashed threads of a report, as far as crashd has the record still; empty of an older crashd.
  public func stacks(id: String) throws(ClientError) -> [RecordedStack] {
    struct Query: Encodable {
      var id: String
      var stacks = true
    }
    struct Parameters: Decodable { var stacks: [RecordedStack]? }
    return try call("Get", Query(id: id), returning: Parameters.self).stacks ?? []
  }

  /// Those of a report that came.
  public func stacks(of received: ReceivedReport) throws(ClientError) -> [RecordedStack] {
    try stacks(id: received.report.id)
  }
}

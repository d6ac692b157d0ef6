import FoundationEssentials
import NIOCore

/// Writes replies: JSON and a zero.
enum VarlinkReply {
  private struct Success<Parameters: Encodable>: Encodable {
    var parameters: Parameters
    var continues: Bool?
  }

  private struct Failure: Encodable {
    var error: String
    var parameters: [String: JSONValue]
  }

  static func success(_ parameters: some Encodable, continues: Bool = false) -> ByteBuffer {
    frame(Success(parameters: parameters, continues: continues ? true : nil))
  }

  static func failure(_ error: VarlinkError) -> ByteBuffer {
    frame(Failure(error: error.name, parameters: error.parameters))
  }

  private static func frame(_ reply: some Encodable) -> ByteBuffer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes]
    // Only a Double that is no number could fail, and the interface has none but a confidence between 0 and 1.
    guard let json = try? CPUAccounts.charging({ try encoder.encode(reply) }) else {
      preconditionFailure("BUG: a reply that is no JSON")
    }
    var buffer = ByteBuffer()
    buffer.reserveCapacity(json.count + 1)
    buffer.writeBytes(json)
    buffer.writeInteger(UInt8(0))
    return buffer
  }
}

/// No parameters: `{}`.
struct NoParameters: Encodable {}

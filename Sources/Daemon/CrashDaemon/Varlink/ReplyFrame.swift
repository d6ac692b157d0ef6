import CrashProtocol
import FoundationEssentials
import NIOCore

/// Encodes replies into NIO buffers.
///
/// Each reply consists of JSON and a NUL byte.
enum ReplyFrame {
  static func success(_ parameters: some Encodable, continues: Bool = false) -> ByteBuffer {
    frame { try VarlinkReplyText.success(parameters, continues: continues) }
  }

  static func failure(_ error: ProtocolError) -> ByteBuffer {
    frame { try VarlinkReplyText.failure(error) }
  }

  private static func frame(_ json: () throws -> Data) -> ByteBuffer {
    // Encoding cannot fail, because every value of the interface is a string, a number, a list or an object. A number
    // that is not finite becomes a string (FragmentList.json).
    guard let json = try? CPUAccounts.charging(json) else { preconditionFailure("BUG: a reply that is not JSON") }
    var buffer = ByteBuffer()
    buffer.reserveCapacity(json.count + 1)
    buffer.writeBytes(json)
    buffer.writeInteger(UInt8(0))
    return buffer
  }
}

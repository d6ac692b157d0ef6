public import CrashReport
internal import FoundationEssentials

/// A copy of the stack of a crashed thread, made at the time of the crash.
public struct RecordedStack: Codable, Sendable, Equatable {
  /// The tid of the thread.
  public var tid: Int
  /// The address of the first byte, which is the lowest address.
  public var start: Address
  /// The contents of the stack, beginning at `start`.
  public var bytes: [UInt8]

  private enum CodingKeys: String, CodingKey { case tid, start, bytes }

  /// Creates a value from its parts.
  package init(tid: Int, start: Address, bytes: [UInt8]) {
    (self.tid, self.start, self.bytes) = (tid, start, bytes)
  }

  /// Decodes a stack.
  /// - Throws: `DecodingError` if the value is invalid, for example if the bytes are not valid base64.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    tid = try container.decode(Int.self, forKey: .tid)
    start = try container.decode(Address.self, forKey: .start)
    let text = try container.decode(String.self, forKey: .bytes)
    guard let data = Data(base64Encoded: text) else {
      throw DecodingError.dataCorruptedError(forKey: .bytes, in: container, debugDescription: "no base64")
    }
    bytes = Array(data)
  }

  /// Encodes the stack, with its bytes in base64.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encode(tid, forKey: .tid)
    try container.encode(start, forKey: .start)
    try container.encode(Data(bytes).base64EncodedString(), forKey: .bytes)
  }
}

/// The IDs of a `traceparent` header of W3C Trace Context.
///
/// The initializers are strict, because the header is untrusted input and reports contain the IDs.
public struct TraceParent: Sendable, Equatable {
  /// The name of the header, in lower case.
  public static let headerName = "traceparent"

  /// The ID of the trace, of 32 hexadecimal digits.
  public let traceID: String
  /// The ID of the client's span, of 16 hexadecimal digits.
  public let spanID: String

  /// Parses the value of the header; fails if the value is invalid.
  ///
  /// A version above 00 can have further fields. The parser ignores them.
  public init?(_ header: String) {
    let bytes = header.utf8
    guard bytes.count >= Self.length else { return nil }
    for (offset, byte) in bytes.prefix(Self.length).enumerated() {
      switch offset {
      case 2, 35, 52: guard byte == UInt8(ascii: "-") else { return nil }
      default: guard Self.isHexDigit(byte) else { return nil }
      }
    }
    let version = header[Self.range(0..<2, in: header)]
    guard version != "ff" else { return nil }
    if bytes.count > Self.length {
      let next = bytes[bytes.index(bytes.startIndex, offsetBy: Self.length)]
      guard version != "00", next == UInt8(ascii: "-") else { return nil }
    }
    traceID = String(header[Self.range(3..<35, in: header)])
    spanID = String(header[Self.range(36..<52, in: header)])
    // W3C Trace Context forbids an ID of zeros only.
    guard traceID.utf8.contains(where: { $0 != UInt8(ascii: "0") }) else { return nil }
    guard spanID.utf8.contains(where: { $0 != UInt8(ascii: "0") }) else { return nil }
  }

  /// Parses the only header with this name; fails if the request has none, or more than one.
  ///
  /// `headers` are the values of all header fields with this name.
  public init?(onlyOf headers: some Sequence<String>) {
    var headers = headers.makeIterator()
    guard let header = headers.next(), headers.next() == nil else { return nil }
    self.init(header)
  }

  /// The number of bytes of version 00: two digits of the version, the two IDs, two digits of flags, and three dashes.
  private static let length = 55

  /// W3C Trace Context allows only lowercase digits.
  private static func isHexDigit(_ byte: UInt8) -> Bool {
    UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || UInt8(ascii: "a")...UInt8(ascii: "f") ~= byte
  }

  private static func range(_ offsets: Range<Int>, in text: String) -> Range<String.Index> {
    let bytes = text.utf8
    let lower = bytes.index(bytes.startIndex, offsetBy: offsets.lowerBound)
    return lower..<bytes.index(lower, offsetBy: offsets.count)
  }
}

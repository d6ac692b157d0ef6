internal import CShimRing
internal import CrashReport

/// A record line: a crash record as one line of text.
///
/// With `CRASHSHIELD_RECORD=stderr`, the crash handler of a process prints it if neither crashd nor the spool accepts
/// the crash.
///
/// docs/record-line.md explains the format. Every byte of the line is untrusted. The length of a line and the number of
/// ring bytes that it describes are limited. Therefore, the time and the memory for reading a line are limited, too.
public struct RecordLine: Sendable, Equatable {
  /// The string with which every record line begins, in any version of the format.
  public static let mark = String(CS_RECORD_LINE_PREFIX.prefix { $0 != ":" }) + ":"
  /// The maximum number of bytes in a line, with its mark and its newline.
  public static let limitBytes = Int(CS_RECORD_LINE_LIMIT_BYTES)

  /// A range of bytes of the ring, which the line describes.
  ///
  /// All pieces are within a ring of the current version. A later piece overwrites an earlier one.
  public struct Piece: Sendable, Equatable {
    /// The offset of the first byte in the ring.
    public var offset: Int
    /// The bytes of the ring from `offset` on.
    public var bytes: [UInt8]
  }

  /// The parts of the ring that are not zero, and the checksums of its slot.
  public let pieces: [Piece]
  /// The numbers of items that did not fit into the line, by the kind of loss.
  ///
  /// A kind without such items has no entry.
  public let cut: [String: Int]

  /// Reads a line, from its mark to its last base64url digit.
  ///
  /// The digits after the mark and the version encode the payload. Its first two bytes state its length. Digits after
  /// this length are ignored.
  public init(_ text: some StringProtocol) throws(RecordLineError) {
    let text = Array(text.utf8.prefix(Self.limitBytes))
    guard text.starts(with: Self.mark.utf8) else { throw .noMark }
    guard text.starts(with: CS_RECORD_LINE_PREFIX.utf8) else {
      let rest = text.dropFirst(Self.mark.utf8.count)
      let version = rest.prefix { $0 != UInt8(ascii: ":") }
      if version.count == rest.count, version.count <= 1 { throw .cut(found: 0, expected: Self.leastBytes) }
      throw .version(CleanText.line(String(decoding: version.prefix(16), as: UTF8.self)))
    }
    try self.init(payload: Self.payload(text.dropFirst(CS_RECORD_LINE_PREFIX.utf8.count)))
  }

  private init(payload: [UInt8]) throws(RecordLineError) {
    let checksumBytes = MemoryLayout<UInt32>.size
    let contents = payload.dropLast(checksumBytes)
    let crc = unsafe contents.withUnsafeBytes { bytes in
      // The buffer has `bytes.count` bytes. The buffer is not empty, because the length of the payload was checked.
      unsafe bytes.baseAddress.map { unsafe cs_ring_crc32c(0, $0, bytes.count) } ?? 0
    }
    guard Self.number(payload.suffix(checksumBytes)) == UInt64(crc) else { throw .checksum }
    var reader = RecordLineReader(contents.dropFirst(Self.headBytes))
    pieces = Self.withChecksums(try reader.pieces())
    cut = Self.cut(in: contents.prefix(Self.headBytes))
  }

  /// Decodes the ring that the line describes, and reads its contents.
  /// - Throws: `RecordLineError.ring` or `RecordLineError.noCrash`.
  public func contents() throws(RecordLineError) -> RingContents {
    let contents: RingContents
    do throws(RingError) { contents = try RingMapping(self).contents() } catch { throw .ring(error) }
    guard !contents.records.isEmpty else { throw .noCrash }
    return contents
  }
}

// Reads the parts of a payload.
extension RecordLine {
  private static let headBytes = MemoryLayout<cs_record_line_head>.size
  /// The size of a payload without pieces.
  private static let leastBytes = headBytes + MemoryLayout<UInt32>.size

  /// The fields of the payload's header that contain the numbers of items that did not fit, each with the kind of loss
  /// that crashd counts.
  ///
  /// Stack memory that did not fit is not a loss, because a record line never has room for the whole stack.
  private static var cutFields: [(PartialKeyPath<cs_record_line_head>, String)] {
    [
      (\.cut_frames, "cutFrames"), (\.cut_images, "cutImages"), (\.cut_text_bytes, "cutText"),
      (\.cut_annotations, "cutAnnotations"), (\.cut_incidents, "cutIncidents"),
      (\.cut_breadcrumbs, "cutBreadcrumbs"), (\.cut_threads, "cutThreads"),
    ]
  }

  private static func cut(in head: ArraySlice<UInt8>) -> [String: Int] {
    var cut: [String: Int] = [:]
    for (field, name) in cutFields {
      guard let offset = MemoryLayout<cs_record_line_head>.offset(of: field) else { continue }
      let count = Int(number(head.dropFirst(offset).prefix(2)))
      if count > 0 { cut[name] = count }
    }
    return cut
  }

  /// Decodes the digits of a payload up to the length that its first two bytes state.
  private static func payload(_ digits: ArraySlice<UInt8>) throws(RecordLineError) -> [UInt8] {
    var decoder = Base64Digits(digits)
    let start = decoder.bytes(2)
    guard start.count == 2 else { throw .cut(found: start.count, expected: leastBytes) }
    let length = Int(number(start[...]))
    guard (leastBytes...Int(CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES)).contains(length) else { throw .length(length) }
    let payload = start + decoder.bytes(length - 2)
    guard payload.count == length else { throw .cut(found: payload.count, expected: length) }
    guard decoder.restIsZero else { throw .malformed("its last digit has bits beyond its length") }
    return payload
  }

  /// Adds the checksums of slot 0 and of its request, which the line does not contain.
  private static func withChecksums(_ pieces: [Piece]) -> [Piece] {
    let start = RingLayout.slot(0)
    var slot = [UInt8](repeating: 0, count: MemoryLayout<cs_ring_slot>.size)
    for piece in pieces {
      let range = (piece.offset..<piece.offset + piece.bytes.count).clamped(to: start..<start + slot.count)
      for offset in range { slot[offset - start] = piece.bytes[offset - piece.offset] }
    }
    let record = slot[RingLayout.recordInSlot..<RingLayout.recordInSlot + MemoryLayout<cs_ring_record>.size]
    let wanted = record.dropFirst(RingLayout.stackBytesInRecord).prefix(4)
    let stackBytes = min(Int(number(wanted)), Int(CS_RING_STACK_LIMIT_BYTES))
    let stack = slot[RingLayout.stackInSlot..<RingLayout.stackInSlot + stackBytes]
    let request = slot[RingLayout.requestInSlot..<RingLayout.requestInSlot + MemoryLayout<cs_ring_request>.size]
    return pieces + [
      Piece(offset: start + RingLayout.crcInSlot, bytes: bytes(of: crc(of: [record, stack]))),
      Piece(offset: start + RingLayout.requestCRCInSlot, bytes: bytes(of: crc(of: [request]))),
    ]
  }

  private static func crc(of parts: [ArraySlice<UInt8>]) -> UInt32 {
    parts.reduce(0) { crc, part in
      // The buffer has `bytes.count` bytes.
      unsafe part.withUnsafeBytes { bytes in
        unsafe bytes.baseAddress.map { unsafe cs_ring_crc32c(crc, $0, bytes.count) } ?? crc
      }
    }
  }

  private static func bytes(of number: UInt32) -> [UInt8] {
    (0..<4).map { UInt8(truncatingIfNeeded: number >> (8 * $0)) }
  }

  /// Reads a little-endian number of at most 8 bytes.
  static func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) } }
}

/// Decodes the digits of base64url (RFC 4648) without padding.
private struct Base64Digits {
  private var rest: ArraySlice<UInt8>
  private var bits: UInt32 = 0
  private var bitCount = 0

  init(_ digits: ArraySlice<UInt8>) { rest = digits }

  /// Whether the unused bits of the last digit, which belong to no byte, are zero.
  var restIsZero: Bool { bits & (1 << bitCount - 1) == 0 }

  /// Decodes the next `count` bytes; fewer if a character is not a base64url digit.
  mutating func bytes(_ count: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(count)
    while bytes.count < count {
      while bitCount < 8 {
        guard let digit = rest.first.flatMap(Self.value) else { return bytes }
        rest.removeFirst()
        bits = bits << 6 | digit
        bitCount += 6
      }
      bitCount -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> bitCount))
    }
    return bytes
  }

  private static func value(_ digit: UInt8) -> UInt32? {
    switch digit {
    case UInt8(ascii: "A")...UInt8(ascii: "Z"): UInt32(digit - UInt8(ascii: "A"))
    case UInt8(ascii: "a")...UInt8(ascii: "z"): UInt32(digit - UInt8(ascii: "a")) + 26
    case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt32(digit - UInt8(ascii: "0")) + 52
    case UInt8(ascii: "-"): 62
    case UInt8(ascii: "_"): 63
    default: nil
    }
  }
}

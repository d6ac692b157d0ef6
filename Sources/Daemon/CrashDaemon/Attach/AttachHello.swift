import CShimRing
import CrashRing

/// The reason why crashd refuses a process.
struct AttachRefusal: Error, Equatable {
  var status: cs_attach_status
  var reason: String
  /// Whether crashd refuses the process because the program has overwritten its ring (the shared memory for crash
  /// records).
  ///
  /// crashd cannot read a crash from such a ring.
  var isLoss = false

  static func malformed(_ reason: String) -> AttachRefusal { AttachRefusal(status: .malformed, reason: reason) }
  static func limit(_ reason: String) -> AttachRefusal { AttachRefusal(status: .limit, reason: reason) }

  init(status: cs_attach_status, reason: String) {
    self.status = status
    self.reason = reason
  }

  /// Makes a refusal from the defect that was found in a ring.
  init(_ error: RingError) {
    switch error {
    case .unsealed: self.init(status: .unsealed, reason: error.description)
    case .version: self.init(status: .version, reason: error.description)
    default:
      self.init(status: .malformed, reason: error.description)
      isLoss = true
    }
  }
}

extension cs_attach_status {
  static let accepted = CS_ATTACH_STATUS_ACCEPTED
  static let malformed = CS_ATTACH_STATUS_MALFORMED
  static let version = CS_ATTACH_STATUS_VERSION
  static let unsealed = CS_ATTACH_STATUS_UNSEALED
  static let limit = CS_ATTACH_STATUS_LIMIT
}

// The magic number is the string "CSATTCH" and a zero byte, read as a little-endian number. The number is repeated here
// because Swift does not import the C macro UINT64_C.
let attachMagic: UInt64 = 0x0048_4354_5441_5343

/// The first message of a process (its hello), after its content was checked.
struct AttachHello: Equatable {
  /// For each descriptor after the first, the index of its image in the ring's image table.
  var images: [Int]

  /// Checks the contents of a message.
  /// - Parameters:
  ///   - message: The bytes of the message.
  ///   - descriptorCount: The number of descriptors in the message.
  ///   - isTruncated: Whether the kernel dropped bytes or descriptors.
  /// - Throws: `AttachRefusal`.
  init(message: [UInt8], descriptorCount: Int, isTruncated: Bool) throws(AttachRefusal) {
    let size = MemoryLayout<cs_attach_hello>.size
    guard message.count == size else { throw .malformed("the hello has \(message.count) bytes, expected \(size)") }
    // If the message is truncated, only descriptors were lost. No bytes were lost, because the message's size was
    // checked and the receive buffer is larger than this size.
    if isTruncated { throw .limit("descriptors of the hello were lost: crashd has too many open descriptors") }
    // The size was checked: the message has exactly the size of the structure, and any bytes are a valid
    // cs_attach_hello.
    let hello = unsafe message.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_attach_hello.self) }
    guard hello.magic == attachMagic else { throw .malformed("the hello does not begin with CSATTCH") }
    guard hello.version == CS_ATTACH_VERSION else {
      throw AttachRefusal(
        status: .version,
        reason: "the hello has version \(hello.version), crashd supports \(CS_ATTACH_VERSION): use the same release")
    }
    guard let ring = RingVersion(hello.ring_version) else {
      throw AttachRefusal(
        status: .version,
        reason:
          "the ring has version \(hello.ring_version), crashd supports \(RingVersion.supported): use the same release")
    }
    guard hello.ring_bytes == UInt64(ring.bytes) else {
      throw .malformed("the hello announces a ring of \(hello.ring_bytes) bytes")
    }
    guard hello.image_count <= UInt32(CS_ATTACH_IMAGE_LIMIT) else {
      throw .malformed("the hello announces \(hello.image_count) images, the limit is \(CS_ATTACH_IMAGE_LIMIT)")
    }
    guard descriptorCount == Int(hello.image_count) + 1 else {
      throw .malformed(
        "\(descriptorCount) descriptors came with a hello that announces the ring and \(hello.image_count) images")
    }
    let count = Int(hello.image_count)
    let images = unsafe message.withUnsafeBytes { bytes in
      (0..<count).map { index in
        // `index` is below CS_ATTACH_IMAGE_LIMIT, which is the length of the array at `imagesOffset` in the checked
        // message.
        Int(unsafe bytes.loadUnaligned(fromByteOffset: Self.imagesOffset + 2 * index, as: UInt16.self))
      }
    }
    self.images = images
    if let index = images.first(where: { $0 >= Int(CS_RING_IMAGE_LIMIT) }) {
      throw .malformed("the hello names image \(index), the limit is \(CS_RING_IMAGE_LIMIT)")
    }
  }

  // The offset of the image array in cs_attach_hello. MemoryLayout cannot return the offset of an imported array.
  // AttachHelloTests compares this number with the C header.
  static let imagesOffset = 32
}

/// Builds crashd's reply to a hello.
enum AttachReply {
  static func bytes(status: cs_attach_status, text: String, controlCount: Int = 0) -> [UInt8] {
    var reply = cs_attach_reply()
    reply.magic = attachMagic
    reply.version = CS_ATTACH_VERSION
    reply.status = status.rawValue
    reply.ring_version = CS_RING_VERSION
    reply.control_count = UInt32(clamping: controlCount)
    reply.flags = UInt32(CS_ATTACH_TAKES_INCIDENTS)
    let text = cut(text, to: Int(CS_ATTACH_TEXT_LIMIT_BYTES))
    reply.text_bytes = UInt32(text.count)
    // The function `cut` has shortened the text to at most the size of `reply.text`.
    unsafe withUnsafeMutableBytes(of: &reply.text) { unsafe $0.copyBytes(from: text) }
    return unsafe withUnsafeBytes(of: reply) { unsafe Array($0) }
  }

  /// Returns the longest prefix that has at most `limit` bytes and ends at a character's end.
  private static func cut(_ text: String, to limit: Int) -> [UInt8] {
    var bytes: [UInt8] = []
    for character in text {
      if bytes.count + character.utf8.count > limit { break }
      bytes += character.utf8
    }
    return bytes
  }
}

import Testing

@testable import FleetServer

@Suite("Body")
struct BodyTests {
  private static let limitBytes = 1 << 20
  private static let encodings = ["gzip", "zstd"]

  private func decode(_ body: [UInt8], _ encoding: String? = "zstd") throws(Refusal) -> [UInt8] {
    try BodyDecoder(limitBytes: Self.limitBytes).decode(body, encoding: encoding)
  }

  /// The code of the refusal; nil if the body is accepted.
  private func code(_ body: [UInt8], _ encoding: String = "zstd") -> Refusal.Code? {
    do throws(Refusal) { _ = try decode(body, encoding) } catch { return error.code }
    return nil
  }

  private func compress(_ bytes: [UInt8], _ encoding: String) -> [UInt8] {
    encoding == "gzip" ? Compressed.gzip(bytes) : Compressed.zstd(bytes)
  }

  private func malformed(_ encoding: String) -> Refusal.Code { encoding == "gzip" ? .notGzip : .notZstd }

  /// Bytes that do not compress.
  private func noise(_ count: Int) -> [UInt8] { (0..<count).map { _ in UInt8.random(in: 0...255) } }

  @Test("a body is decompressed, whatever the case of its encoding", arguments: encodings)
  func plain(_ encoding: String) throws {
    for bytes in [[], [UInt8](Sample.line(1).utf8), noise(200_000), [UInt8](repeating: 0x20, count: Self.least)] {
      let body = compress(bytes, encoding)
      #expect(try decode(body, encoding) == bytes)
      #expect(try decode(body, encoding.uppercased()) == bytes)
    }
    for identity in [nil, "", "identity"] { #expect(try decode([1, 2], identity) == [1, 2]) }
  }

  @Test("a body that exceeds the size or the ratio is refused", arguments: encodings)
  func bomb(_ encoding: String) throws {
    // A ratio above 64 is allowed up to 64 KiB.
    #expect(code(compress([UInt8](repeating: 0x20, count: Self.least + 1), encoding), encoding) == .bodyTooLarge)
    #expect(code(compress([UInt8](repeating: 0x20, count: 64 << 20), encoding), encoding) == .bodyTooLarge)
    #expect(code(compress(noise(Self.limitBytes + 1), encoding), encoding) == .bodyTooLarge)
    let largest = noise(Self.limitBytes)
    #expect(try decode(compress(largest, encoding), encoding) == largest)
  }

  @Test("a truncated body is refused at each length", arguments: encodings)
  func truncated(_ encoding: String) {
    let body = compress([UInt8](Sample.line(1).utf8), encoding)
    for count in 0..<body.count {
      #expect(code(Array(body.prefix(count)), encoding) == malformed(encoding), "\(count) of \(body.count) bytes")
    }
  }

  @Test("garbage, the other encoding and trailing bytes are refused", arguments: encodings)
  func garbage(_ encoding: String) {
    let (line, other) = ([UInt8](Sample.line(1).utf8), encoding == "gzip" ? "zstd" : "gzip")
    let body = compress(line, encoding)
    for bytes in [line, noise(100), compress(line, other), body + [0], body + [0, 0, 0, 0], body + noise(20)] {
      #expect(code(bytes, encoding) == malformed(encoding))
    }
    var damaged = body
    damaged[body.count / 2] ^= 0xff
    #expect((try? decode(damaged, encoding)) != line)
    #expect(code(body, "br") == .unknownEncoding && code(body, "gzip, zstd") == .unknownEncoding)
  }

  @Test("all zstd frames are decompressed in their order, and skippable frames are skipped")
  func frames() throws {
    let skippable: [UInt8] = [0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 1, 2, 3]
    let body = Compressed.zstd([1, 2]) + skippable + Compressed.zstd([]) + Self.frame(blocks: Self.raw([3, 4]))
    #expect(try decode(body) == [1, 2, 3, 4])
    #expect(try decode(skippable) == [])
    #expect(code(body + body.prefix(5)) == .notZstd)
    #expect(code(skippable.dropLast()) == .notZstd)
    // Each frame is small, and all together exceed the limit.
    let one = Self.frame(blocks: Self.repeated(0x20, 128 << 10))
    #expect(code((0..<9).flatMap { _ in one }) == .bodyTooLarge)
  }

  @Test("a zstd frame cannot demand more memory than its content has")
  func window() throws {
    let content = Self.raw([1, 2, 3])
    // RFC 9659 allows a window of at most 8 MiB.
    #expect(try decode(Self.frame(window: 0x68, blocks: content)) == [1, 2, 3])
    for window: UInt8 in [0x69, 0x70, 0xa8, 0xff] {
      #expect(code(Self.frame(window: window, blocks: content)) == .notZstd)
    }
    // A frame that states the size of its content has no window of its own. This frame states 2^62 bytes.
    let stated: [UInt8] = [0x28, 0xb5, 0x2f, 0xfd, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0x40]
    #expect(code(stated + Self.repeated(0, 128 << 10)) == .notZstd)
    // The blocks of one frame, which decompress to about 30,000 times their size.
    let blocks = (0..<512).flatMap { _ in Self.repeated(0, 128 << 10, isLast: false) } + Self.raw([])
    #expect(code(Self.frame(window: 0x68, blocks: blocks)) == .bodyTooLarge)
    #expect(code(Self.frame(window: 0x68, blocks: blocks) + [UInt8](repeating: 0, count: 100_000)) == .bodyTooLarge)
  }

  @Test("zstd frames of formats before version 1 are refused")
  func legacy() {
    // A frame of version 0.7 with the content "hello", which libzstd can decompress.
    let old: [UInt8] =
      [0x27, 0xb5, 0x2f, 0xfd, 0, 0x50, 0x40, 0, 5] + Array("hello".utf8) + [0xc0, 0, 0]
    #expect(code(old) == .notZstd)
    #expect(code(Compressed.zstd([1]) + old) == .notZstd)
  }

  /// The number of decompressed bytes that even a very small body may have.
  private static let least = 64 << 10

  /// A frame without a checksum, which does not state the size of its content.
  private static func frame(window: UInt8 = 0x50, blocks: [UInt8]) -> [UInt8] {
    [0x28, 0xb5, 0x2f, 0xfd, 0, window] + blocks
  }

  /// The last block of a frame, with bytes that are not compressed.
  private static func raw(_ bytes: [UInt8]) -> [UInt8] { header(bytes.count, type: 0, isLast: true) + bytes }

  /// A block with one byte that is repeated.
  private static func repeated(_ byte: UInt8, _ count: Int, isLast: Bool = true) -> [UInt8] {
    header(count, type: 1, isLast: isLast) + [byte]
  }

  private static func header(_ count: Int, type: Int, isLast: Bool) -> [UInt8] {
    let bits = count << 3 | type << 1 | (isLast ? 1 : 0)
    return [UInt8(bits & 0xff), UInt8(bits >> 8 & 0xff), UInt8(bits >> 16)]
  }
}

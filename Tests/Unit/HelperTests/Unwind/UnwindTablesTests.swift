import CShimRing
import CrashSymbols
import Foundation
import TestKit
import Testing

/// Builds files of unwind tables byte by byte.
enum Tables {
  /// Returns the bytes of an unwind file, with a correct checksum.
  static func resealed(_ tables: [UInt8]) throws -> [UInt8] {
    var header = try #require(UnwindTablesHeader(tables, fileSize: tables.count))
    let checked = Array(tables[UnwindTablesHeader.checkedFrom...])
    // Invariant: the pointer and the count describe the same array.
    header.checksum = unsafe cs_ring_crc32c(0, checked, checked.count)
    return header.encoded + tables[UnwindTablesHeader.size...]
  }

  /// Builds an unwind file with one rule, which covers all code around `pc`.
  ///
  /// By this rule, the caller's frame pointer is at the address in rbp, and the return address is 8 bytes above it.
  static func framePointers(of image: Snapshot.Image, at pc: UInt64) throws -> [UInt8] {
    func words(_ words: [UInt32]) -> [UInt8] {
      words.flatMap { word in (0..<4).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    }
    func distance(_ to: UInt64, from: UInt64) -> UInt32 { UInt32(truncatingIfNeeded: to &- from) }
    // .eh_frame_hdr has a table of one entry. .eh_frame follows this section directly.
    let index = image.start &- image.bias
    let frames = index + 20
    let function = pc &- image.bias &- 64
    // The CIE has version 1, augmentation "zR", code alignment 1, data alignment -8, return address register 16, and
    // relative pointers. The CFA is rbp + 16; rbp is saved at CFA - 16, the return address at CFA - 8.
    let common =
      words([24, 0]) + [1, 0x7a, 0x52, 0, 1, 0x78, 16, 1, 0x1b] + [0x0c, 6, 16, 0x86, 2, 0x90, 1]
      + [0, 0, 0, 0]
    let entry = frames + UInt64(common.count)
    let own = words([16, UInt32(common.count + 4), distance(function, from: entry + 8), 128]) + [0, 0, 0, 0]
    let table =
      [1, 0x1b, 0x03, 0x3b] + words([distance(frames, from: index + 4), 1])
      + words([distance(function, from: index), distance(entry, from: index)])
    let bytes = table + common + own + words([0])
    let header = UnwindTablesHeader(
      checksum: 0, buildID: [], index: .init(address: index, size: UInt64(table.count)),
      frames: .init(address: frames, size: UInt64(bytes.count - table.count)))
    return try resealed(header.encoded + bytes)
  }
}

@Suite("Unwind files")
struct UnwindTablesTests {
  private static func tables(of image: URL, buildID: String = "") throws -> TestProgram.Answer {
    try Tool.run(["unwind-tables", "--build-id", buildID], input: image)
  }

  @Test("unwind tables have the image's two sections, byte for byte, and its build id")
  func sections() throws {
    let answer = try Self.tables(of: Snapshot.program)
    #expect(answer.status == 0 && answer.error.isEmpty)
    let file = [UInt8](answer.output)
    let header = try #require(UnwindTablesHeader(file, fileSize: file.count))
    #expect(header.encoded == Array(file.prefix(UnwindTablesHeader.size)))
    #expect(try Tables.resealed(file) == file)
    let image = [UInt8](try Data(contentsOf: Snapshot.program))
    let sections = try Self.sections(of: image)
    for (name, section) in [(".eh_frame_hdr", header.index), (".eh_frame", header.frames)] {
      let found = try #require(sections[name])
      #expect(section.address == found.address && section.size == UInt64(found.bytes.count), "\(name)")
    }
    let bytes = Array(try #require(sections[".eh_frame_hdr"]).bytes) + Array(try #require(sections[".eh_frame"]).bytes)
    #expect(Array(file[UnwindTablesHeader.size...]) == bytes)
    let id = header.buildID.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    #expect(id.count == 40)
    #expect(try Self.tables(of: Snapshot.program, buildID: id).output == answer.output)
  }

  @Test("a file of unwind tables that is shorter than its header or than the size in its header is rejected")
  func shortFile() throws {
    let header = UnwindTablesHeader(
      checksum: 0, buildID: [0xab], index: .init(address: 0, size: 0), frames: .init(address: 0, size: 0))
    #expect(UnwindTablesHeader(header.encoded, fileSize: UnwindTablesHeader.size)?.buildIDText == "ab")
    // Simulates a file that was truncated after crashd had read its header.
    for size in [-1, 0, UnwindTablesHeader.size - 1] {
      #expect(UnwindTablesHeader(header.encoded, fileSize: size) == nil)
    }
  }

  @Test("no unwind tables are made from a file of another build, or from a file that is not an image")
  func refused() throws {
    let wrong = try Self.tables(of: Snapshot.program, buildID: "00ff")
    #expect(wrong.status == 65 && wrong.error.hasSuffix(", not 00ff\n") && wrong.output.isEmpty)
    for bytes in [[], Array("#!/bin/sh\n".utf8), [0x7f, 0x45, 0x4c, 0x46]] as [[UInt8]] {
      #expect(try Tool.run(["unwind-tables", "--build-id", ""], input: bytes).status == 65)
    }
  }

  @Test(
    "from a damaged image, crash-analyse makes complete unwind tables, or none and prints a one-line reason",
    arguments: 0..<40)
  func damaged(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    var image = [UInt8](try Data(contentsOf: Snapshot.program))
    // Damages only the ELF header and the program headers, which crash-analyse reads to find the tables.
    for _ in 0..<20 { image[Int.random(in: 16..<1024, using: &generator)] = .random(in: 0...255, using: &generator) }
    let answer = try Tool.run(["unwind-tables", "--build-id", ""], input: image)
    #expect([0, 65].contains(answer.status), "\(answer.status) \(answer.error)")
    #expect(answer.error.filter(\.isNewline).count == (answer.status == 0 ? 0 : 1))
    if answer.status == 0 {
      #expect(UnwindTablesHeader([UInt8](answer.output), fileSize: answer.output.count) != nil)
    }
  }

  @Test("unwind tables whose header states a wrong size are rejected")
  func header() throws {
    let header = UnwindTablesHeader(
      checksum: 7, buildID: [1, 2], index: .init(address: 0x10, size: 4), frames: .init(address: 0x20, size: 6))
    let size = UnwindTablesHeader.size + 10
    #expect(UnwindTablesHeader(header.encoded, fileSize: size) == header)
    #expect(UnwindTablesHeader(header.encoded, fileSize: size - 1) == nil)
    #expect(UnwindTablesHeader(header.encoded, fileSize: size + 1) == nil)
    #expect(UnwindTablesHeader(Array(header.encoded.dropLast()), fileSize: size) == nil)
    #expect(UnwindTablesHeader(header.encoded, fileSize: UnwindTablesHeader.fileLimitBytes + 1) == nil)
    var long = header
    long.index.size = .max
    #expect(UnwindTablesHeader(long.encoded, fileSize: size) == nil)
  }

  /// Finds sections through the section table.
  ///
  /// `crash-analyse unwind-tables` does not read this table, so the result is independent of it.
  private static func sections(of image: [UInt8]) throws -> [String: (address: UInt64, bytes: ArraySlice<UInt8>)] {
    func number(_ at: Int, _ count: Int) -> Int {
      Int(image[at..<at + count].reversed().reduce(0) { $0 << 8 | UInt64($1) })
    }
    let table = number(40, 8)
    let names = number(table + number(62, 2) * 64 + 24, 8)
    var sections: [String: (address: UInt64, bytes: ArraySlice<UInt8>)] = [:]
    for at in (0..<number(60, 2)).map({ table + $0 * 64 }) where number(at + 4, 4) != 8 {
      let name = String(decoding: image[(names + number(at, 4))...].prefix { $0 != 0 }, as: UTF8.self)
      let start = number(at + 24, 8)
      sections[name] = (UInt64(number(at + 16, 8)), image[start..<start + number(at + 32, 8)])
    }
    return sections
  }
}

@Suite("Requests and answers of the unwind cross-check")
struct UnwindFormTests {
  @Test("a cross-check request is unchanged after encoding and decoding")
  func request() {
    let request = UnwindRequest(
      threads: [
        UnwindRequest.Thread(
          registers: (0..<17).map { UInt64($0) }, isBadFetch: true, isPastFault: false, stackStart: 0x7fff_0000,
          stack: .init(offset: 400, size: 8))
      ], images: [UnwindRequest.Image(start: 1, end: 2, bias: 3, tables: .init(offset: 408, size: 0))])
    #expect(request.encoded.count == UnwindRequest.headerBytes(threads: 1, images: 1))
    #expect(UnwindRequest(request.encoded, size: 408) == request)
    #expect(UnwindRequest(request.encoded, size: 407) == nil)
    var other = request
    other.architecture = .aarch64
    other.threads[0].registers = (0..<33).map { UInt64($0) }
    #expect(other.encoded.count == UnwindRequest.headerBytes(threads: 1, images: 1, architecture: .aarch64))
    #expect(UnwindRequest(other.encoded, size: 408) == other)
    // Changes the architecture, which is the fourth word. The request is now too short, because AArch64 has more
    // registers.
    var bytes = request.encoded
    bytes[24] = 2
    #expect(UnwindRequest(bytes, size: 408) == nil)
  }

  @Test("a cross-check answer is unchanged after encoding and decoding, and a damaged answer is rejected")
  func answer() {
    let answer = UnwindAnswer(stacks: [
      .init(
        frames: [.init(pc: 1, functionStart: nil, found: .context), .init(pc: 2, functionStart: 3, found: .cfi)],
        stop: .end), .init(frames: [], stop: .noCaller),
    ])
    let bytes = answer.encoded
    #expect(UnwindAnswer(bytes, threads: 2) == answer)
    #expect(UnwindAnswer(bytes, threads: 1) == nil)
    for count in 0..<bytes.count { #expect(UnwindAnswer(Array(bytes.prefix(count)), threads: 2) == nil) }
    for word in 1..<bytes.count / 8 {
      var damaged = bytes
      damaged.replaceSubrange(word * 8..<word * 8 + 8, with: [UInt8](repeating: 0xff, count: 8))
      let read = UnwindAnswer(damaged, threads: 2)
      #expect(read == nil || read != answer, "word \(word)")
    }
  }
}

import CShimRing
import CrashReport
@testable import CrashRing
import TestKit
import Testing

@Suite("RecordLine")
struct RecordLineReaderTests {
  /// A ring that contains one crash.
  private static func ring() -> TestRing {
    let ring = TestRing()
    ring.addImage(0, start: 0x40_0000, path: "/srv/server", flags: 1)
    ring.addImage(1, start: 0x7f00_0000_0000, path: "/lib/libc.so.6")
    ring.addAnnotation(0, "release", "1.2.3")
    ring.addRecord(
      slot: 0, sequence: 5, message: "Fatal error: Index out of range\n",
      frames: [cs_ring_frame(0x40_0010, image: 0, flags: 1, trust: 1), cs_ring_frame(0x7f00_0000_0020, image: 1)],
      stack: Array(0..<64))
    ring.addRequest(
      at: TestRing.slot(0) + fieldOffset(\cs_ring_slot.request), number: 1, id: "7F3A", tags: "tier\0gold\0")
    ring.commitRequest(slot: 0)
    return ring
  }

  private static func error(_ text: String) -> RecordLineError? {
    do throws(RecordLineError) {
      _ = try RecordLine(text).contents()
      return nil
    } catch {
      return error
    }
  }

  /// Returns the reason why the reader refuses a payload with these pieces and a correct checksum.
  private static func reason(_ pieces: [UInt8]) -> String? {
    guard case .malformed(let why) = error(TestRecordLine.text(TestRecordLine.payload(pieces))) else { return nil }
    return why
  }

  @Test("the ring that is decoded from a record line equals the original ring")
  func whole() throws {
    let ring = Self.ring()
    let line = try RecordLine(TestRecordLine.text(of: ring.bytes))
    let (found, expected) = (try line.contents(), try ring.contents())
    #expect(found.identity == expected.identity && found.images == expected.images)
    #expect(found.annotations == expected.annotations && found.losses.isEmpty)
    #expect(found.records == expected.records && found.records.count == 1)
    #expect(line.cut.isEmpty)
  }

  @Test("strings from a record line contain no control characters")
  func texts() throws {
    let ring = Self.ring()
    ring.setBytes(\cs_ring_header.name, Array("\u{1b}[2Jshop\0".utf8))
    ring.addImage(1, start: 0x7f00_0000_0000, path: "/lib/\u{1b}]0;title\u{7}.so")
    let contents = try RecordLine(TestRecordLine.text(of: ring.bytes)).contents()
    #expect(contents.identity.name == CleanText.line("\u{1b}[2Jshop"))
    #expect(contents.images.allSatisfy { $0.path == CleanText.line($0.path) } && contents.images.count == 2)
  }

  @Test("characters after the stated length of a record line are ignored")
  func longer() throws {
    let text = TestRecordLine.text(of: Self.ring().bytes)
    #expect(try RecordLine(text + "2026-11-29").pieces == RecordLine(text).pieces)
  }

  @Test("the counts of items that were cut from a record line are read as losses, except the count for memory")
  func cut() throws {
    let text = TestRecordLine.text(of: Self.ring().bytes, head: [3, 0, 70, 1, 9_000, 0, 4, 65_535])
    let cut = try RecordLine(text).cut
    #expect(cut == ["cutFrames": 3, "cutText": 70, "cutAnnotations": 1, "cutBreadcrumbs": 4, "cutThreads": 65_535])
  }

  @Test("a record line that is cut at any character is refused")
  func cutLine() {
    let text = TestRecordLine.text(of: Self.ring().bytes)
    for count in 0..<text.utf8.count {
      let error = Self.error(String(text.prefix(count)))
      switch error {
      case .noMark: #expect(count < RecordLine.mark.utf8.count)
      case .cut(let found, let expected): #expect(found < expected)
      default: Issue.record("\(count) characters: \(error.map(\.description) ?? "the line was read")")
      }
    }
  }

  @Test("a record line with one wrong character is refused")
  func wrongCharacter() {
    let text = Array(TestRecordLine.text(of: Self.ring().bytes).utf8)
    for index in CS_RECORD_LINE_PREFIX.utf8.count..<text.count {
      for character in [UInt8(ascii: "A"), UInt8(ascii: "_"), 0x1b, 0xff] where character != text[index] {
        var wrong = text
        wrong[index] = character
        #expect(Self.error(String(decoding: wrong, as: UTF8.self)) != nil, "character \(index)")
      }
    }
  }

  @Test("a line of another version is refused, and the error has the version without control characters")
  func version() {
    #expect(Self.error("crashshield-record:2:AAAA") == .version("2"))
    let error = Self.error("crashshield-record:\u{1b}[31m")
    #expect(error?.description.contains("\u{1b}") == false)
    #expect(Self.error("crashshield-records:1:") == .noMark)
    #expect(Self.error("") == .noMark)
  }

  @Test("a record line that states an impossible length is refused", arguments: [0, 21, 3_056, 65_535])
  func length(length: Int) {
    #expect(Self.error(TestRecordLine.text(TestRecordLine.payload([], length: length))) == .length(length))
  }

  @Test("a record line is refused if the unused bits in its last base64 digit are not 0")
  func lastBits() {
    // The last digit of a payload of 23 bytes has two unused bits.
    let text = TestRecordLine.text(TestRecordLine.payload([0x80]))
    var wrong = Array(text.utf8)
    let last = wrong.removeLast()
    let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)
    guard let value = digits.firstIndex(of: last) else {
      Issue.record("'\(last)' is no digit")
      return
    }
    wrong.append(digits[value | 1])
    #expect(value & 1 == 0)
    let reason = "its last digit has bits beyond its length"
    #expect(Self.error(String(decoding: wrong, as: UTF8.self)) == .malformed(reason))
  }

  @Test("a record line whose payload contains no crash is refused")
  func noCrash() {
    #expect(Self.error(TestRecordLine.text(TestRecordLine.payload([]))) == .ring(.magic(found: 0)))
    let empty = TestRing()
    #expect(Self.error(TestRecordLine.text(of: empty.bytes)) == .noCrash)
  }

  @Test("a word in a record line is decoded relative to the base that its code selects")
  func words() throws {
    let (first, second) = (UInt64(0x7f12_3456_7890), UInt64(0x55aa_0000_1000))
    func literal(_ base: UInt8, _ value: UInt64, _ bytes: Int) -> [UInt8] {
      [base << 4 | UInt8(bytes)] + (0..<bytes).map { UInt8(truncatingIfNeeded: value >> (8 * UInt64($0))) }
    }
    // Several statements, because Swift 6.2 would take too long to type-check one expression.
    var words = literal(0, TestRecordLine.zigzag(Int64(first)), 6)  // base 1
    words += literal(0, TestRecordLine.zigzag(Int64(second)), 8)  // base 2
    words += literal(1, TestRecordLine.zigzag(-0x10), 1)  // relative to the first word, and base 1 afterwards
    words += literal(1, TestRecordLine.zigzag(0x20), 1) + literal(2, 0, 0) + literal(0, TestRecordLine.zigzag(-1), 4)
    words += [0x81, 4]  // copies the last two words twice
    let pieces = TestRecordLine.place(64, kind: 0) + TestRecordLine.varint(10) + words
    let line = try RecordLine(TestRecordLine.text(TestRecordLine.payload(pieces)))
    let expected = [first, second, first - 0x10, first + 0x10, second, .max, second, .max, second, .max]
    let bytes = expected.flatMap { word in (0..<8).map { UInt8(truncatingIfNeeded: word >> (8 * $0)) } }
    #expect(line.pieces.first == RecordLine.Piece(offset: 64, bytes: bytes))
  }

  @Test("a payload with a right checksum that violates the format is refused")
  func hostile() {
    let ringBytes = MemoryLayout<cs_ring>.size
    func piece(_ place: [UInt8], count: UInt64, _ rest: [UInt8] = []) -> [UInt8] {
      place + TestRecordLine.varint(count) + rest
    }
    let start = TestRecordLine.place(0, kind: 0)
    let bytes = TestRecordLine.place(0, kind: 1)
    let outside = "a piece ends outside of the ring"
    let endless = "a piece ends outside of the payload"
    let tooMany = "its pieces fill too many bytes"
    let badRepeat = "a repeat has an impossible number of words"
    let twice =
      piece(start, count: 16_000, [0, 0x80] + TestRecordLine.varint(15_999))
      + piece(start, count: 400, [0, 0x80] + TestRecordLine.varint(399))
    let cases: [(String, [UInt8], String)] = [
      ("before the ring", TestRecordLine.piece(at: -8, words: [1]), outside),
      ("behind the ring", TestRecordLine.piece(at: ringBytes - 4, bytes: [1, 2, 3, 4, 5]), outside),
      ("far behind the ring", TestRecordLine.varint(UInt64.max) + [1, 0], outside),
      ("too many words", piece(start, count: 16_385, [0]), tooMany),
      ("a count that overflows", piece(start, count: UInt64.max / 4, [0]), tooMany),
      ("the largest count", piece(bytes, count: .max), tooMany),
      ("too many words in two pieces", twice, tooMany),
      ("more bytes than the payload", piece(bytes, count: 9, [1, 2]), endless),
      ("no words", piece(start, count: 2, [1, 7]), endless),
      ("a word of nine bytes", piece(start, count: 1, [9] + Array(0...8)), "a word has more than 8 bytes"),
      ("a repeat at the begin", piece(start, count: 2, [0x80, 2]), "a repeat begins before its piece"),
      (
        "a repeat of another piece", TestRecordLine.piece(at: 0, words: [1, 2]) + piece(start, count: 1, [0x80, 1]),
        "a repeat begins before its piece"
      ),
      ("a repeat behind the piece", piece(start, count: 3, [1, 7, 0x80, 3]), badRepeat),
      ("a repeat of nothing", piece(start, count: 2, [1, 7, 0x80, 0]), badRepeat),
      ("a number of eleven bytes", Array(repeating: 0x80, count: 10) + [1], "a number has more than 64 bits"),
      ("a number of 65 bits", Array(repeating: 0xff, count: 9) + [2], "a number has more than 64 bits"),
      ("a number without an end", [0x80], endless),
      ("a piece without a count", start, endless),
    ]
    for (name, pieces, expected) in cases { #expect(Self.reason(pieces) == expected, "\(name)") }
  }

  @Test("a payload of random pieces is read or refused, within the limits of the format")
  func random() {
    var generator = SplitMix64(state: 25)
    var reasons: Set<String> = []
    for _ in 0..<4_000 {
      let count = Int.random(in: 0...64, using: &generator)
      var pieces = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
      // Half of the payloads begin with a valid piece, so that errors also occur after it.
      if Bool.random(using: &generator) {
        pieces = TestRecordLine.piece(at: 1_024, words: [.max, 1, 1 << 40]) + pieces
      }
      do throws(RecordLineError) {
        let line = try RecordLine(TestRecordLine.text(TestRecordLine.payload(pieces)))
        let filled = line.pieces.dropLast(2).reduce(0) { $0 + $1.bytes.count }
        #expect(filled <= Int(CS_RECORD_LINE_RING_LIMIT_BYTES))
        reasons.insert("read")
      } catch {
        reasons.insert(error.description)
      }
    }
    #expect(reasons.count > 5, "\(reasons)")
  }
}

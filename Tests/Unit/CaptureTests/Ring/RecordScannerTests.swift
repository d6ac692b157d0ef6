import CrashRing
import Testing

@Suite("RecordScanner")
struct RecordScannerTests {
  /// Scans a log that arrives in pieces of this size.
  private static func scan(_ log: [UInt8], by size: Int = 1 << 16) -> [RecordScanner.Found] {
    var (scanner, found): (RecordScanner, [RecordScanner.Found]) = (RecordScanner(), [])
    for start in stride(from: 0, to: log.count, by: size) {
      let piece = Array(log[start..<min(log.count, start + size)])
      var position = 0
      while let next = scanner.next(in: piece, from: &position) { found.append(next) }
    }
    if let last = scanner.end() { found.append(last) }
    return found
  }

  private static func scan(_ log: String, by size: Int = 1 << 16) -> [RecordScanner.Found] {
    scan(Array(log.utf8), by: size)
  }

  private static let text = "crashshield-record:1:AAB_-z09"

  @Test(
    "the scanner finds a record line in the log format of each container runtime",
    arguments: [
      "%\n", "%", "%\r\n", "[shop] ERROR %\n", "2026-11-29T12:00:00.123456789Z stderr F %\n",
      #"{"log":"%\n","stream":"stderr","time":"2026-11-29T12:00:00Z"}"#,
      #"{"timestamp":1764417600000,"message":"%","ingestionTime":1764417600001}"#,
      "2026-11-29T12:00:00.000Z\t%\t{}\n", "<27>1 2026-11-29T12:00:00Z host shop 7 - - %\n",
      "Nov 29 12:00:00 host shop[7]: %\n", "\u{1b}[31m%\u{1b}[0m\n", "shop-1  | %\n", "\0\0%\0\0",
    ])
  func formats(form: String) {
    let found = Self.scan("first\n" + form.replacing("%", with: Self.text))
    #expect(found == [RecordScanner.Found(line: 2, text: Self.text)])
  }

  @Test("the scanner finds the same record lines for every read size", arguments: [1, 2, 3, 7, 21, 64])
  func sizes(size: Int) {
    let log = "crashshield-recrashshield-record:1:AB\ncrashshield-record\n{\"log\":\"\(Self.text)\\n\"}\n\(Self.text)"
    #expect(Self.scan(log, by: size) == Self.scan(log))
    #expect(Self.scan(log).map(\.line) == [1, 3, 4])
    #expect(Self.scan(log).first?.text == "crashshield-record:1:AB")
  }

  @Test("if two record lines are on one log line, the first one ends before the mark of the second one")
  func interrupted() {
    let found = Self.scan("crashshield-record:1:AAAA\(Self.text)\(Self.text)\n")
    #expect(found.map(\.text) == ["crashshield-record:1:AAAA", Self.text, Self.text])
  }

  @Test("a log without a newline needs no more memory than one record line")
  func endless() {
    let log = Array("x".utf8) + Array(Self.text.utf8) + [UInt8](repeating: UInt8(ascii: "A"), count: 1 << 20)
    let found = Self.scan(log)
    #expect(found.map(\.text.utf8.count) == [RecordLine.limitBytes])
  }

  @Test("a log without marks has no record lines")
  func nothing() {
    #expect(Self.scan("").isEmpty)
    #expect(Self.scan("crashshield-record\ncrashshield: record:1:\ncrashshield_record:1:AA\n").isEmpty)
  }
}

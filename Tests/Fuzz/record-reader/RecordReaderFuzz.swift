// The entry point for libFuzzer. An input is a log, or the payload (in pieces) of a record line: a line of a log that
// contains a whole crash record. The target computes the payload's checksums, because a random payload never has the
// right ones. scripts/fuzz/readers builds this target together with TestRecordLine.swift of Tests/Kit.
internal import CShimRing
import CrashReport
import CrashRing

/// Reads a log or the pieces of a payload.
///
/// The lowest bit of the first byte selects between these two. A trap, a finding of a sanitizer or a failed
/// precondition ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRecordReader(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  let input = Array(UnsafeBufferPointer(start: data, count: count))
  guard let form = input.first else { return 0 }
  let rest = Array(input.dropFirst())
  if form & 1 == 0 { scan(rest) } else { read(TestRecordLine.text(TestRecordLine.payload(rest))) }
  return 0
}

/// Scans a log twice: in one piece, and byte by byte.
private func scan(_ log: [UInt8]) {
  let found = texts(of: log, by: log.count)
  precondition(found == texts(of: log, by: 1), "the result depends on the sizes of reads")
  for record in found {
    precondition(record.text.hasPrefix(RecordLine.mark) && record.text.utf8.count <= RecordLine.limitBytes)
    precondition(record.line > 0 && record.line <= log.count { $0 == UInt8(ascii: "\n") } + 1)
    read(record.text)
  }
}

private func texts(of log: [UInt8], by size: Int) -> [RecordScanner.Found] {
  var (scanner, found): (RecordScanner, [RecordScanner.Found]) = (RecordScanner(), [])
  for start in stride(from: 0, to: log.count, by: max(1, size)) {
    let piece = Array(log[start..<min(log.count, start + size)])
    var position = 0
    while let next = scanner.next(in: piece, from: &position) { found.append(next) }
  }
  if let last = scanner.end() { found.append(last) }
  return found
}

/// Decodes a record line, and reads the ring that the decoder creates from the line.
private func read(_ text: String) {
  do throws(RecordLineError) {
    let line = try RecordLine(text)
    let ringBytes = MemoryLayout<cs_ring>.size
    // The last two pieces are the checksums.
    let filled = line.pieces.dropLast(2).reduce(0) { $0 + $1.bytes.count }
    precondition(filled <= Int(CS_RECORD_LINE_RING_LIMIT_BYTES))
    for piece in line.pieces {
      precondition(piece.offset >= 0 && piece.offset <= ringBytes - piece.bytes.count)
    }
    precondition(line.cut.values.allSatisfy { $0 > 0 })
    let contents = try line.contents()
    precondition(!contents.records.isEmpty)
    for image in contents.images { precondition(CleanText.line(image.path) == image.path) }
  } catch {
    precondition(CleanText.line(error.description) == error.description)
  }
}

internal import CrashRing
import Glibc
internal import LinuxSystem

/// A record line in a log (the text form of a crash record, which a process prints), and its contents.
struct LoggedRecord {
  /// The number of the line in the log, from 1.
  var line: Int
  /// The text that crashd imports.
  var text: String
  var contents: RingContents
}

/// Reads the record lines in a log, which can be a pipe.
///
/// For a damaged or incomplete record line, `RecordLog` prints the number of the line and the reason, and continues.
struct RecordLog: ~Copyable {
  private static let chunkBytes = 1 << 16
  private static let shownRefusals = 20
  private static let signalCheck_ms: Int32 = 250

  private let file: Descriptor
  private let name: String
  private var scanner = RecordScanner()
  private var chunk: [UInt8] = []
  private var position = 0
  private var isAtEnd = false
  /// The number of record lines that `RecordLog` or crashd refused.
  private(set) var refused = 0

  /// Opens a file, or standard input for the path `-`.
  init(_ path: String) throws(Failure) {
    name = path == "-" ? "standard input" : "'\(path)'"
    // Invariant: open reads the path only during the call. `Descriptor` owns the number, and closes it.
    let number = unsafe path == "-" ? fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3) : open(path, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw Failure(.nothingFound, "cannot open \(name) (\(SystemError.text(errno)))") }
    file = Descriptor(owning: number)
  }

  /// Returns the next record; nil at the end of the log, or when `isStopped` returns true.
  mutating func next(until isStopped: () -> Bool = { false }) throws(Failure) -> LoggedRecord? {
    while true {
      if let found = scanner.next(in: chunk, from: &position) {
        if let record = record(found) { return record }
        continue
      }
      if isAtEnd { return scanner.end().flatMap { record($0) } }
      guard try read(until: isStopped) else { return nil }
    }
  }

  /// Reads the next bytes of the log; returns false if the caller stopped the reading.
  private mutating func read(until isStopped: () -> Bool) throws(Failure) -> Bool {
    while !isReadable(file.number, timeout_ms: Self.signalCheck_ms) {
      if isStopped() { return false }
    }
    if isStopped() { return false }
    var bytes = [UInt8](repeating: 0, count: Self.chunkBytes)
    // Invariant: read writes at most as many bytes as the array has.
    let count = unsafe Glibc.read(file.number, &bytes, bytes.count)
    if count < 0, errno != EINTR, errno != EAGAIN {
      throw Failure(.nothingFound, "cannot read \(name) (\(SystemError.text(errno)))")
    }
    isAtEnd = count == 0
    chunk = Array(bytes.prefix(max(0, count)))
    position = 0
    return true
  }

  private mutating func record(_ found: RecordScanner.Found) -> LoggedRecord? {
    do throws(RecordLineError) {
      return LoggedRecord(line: found.line, text: found.text, contents: try RecordLine(found.text).contents())
    } catch {
      refuse(line: found.line, because: error.description)
      return nil
    }
  }

  /// Reports a line that is not a whole record.
  mutating func refuse(line: Int, because reason: String) {
    refused += 1
    if refused <= Self.shownRefusals { Output.complain("line \(line) of \(name): refused a record, because \(reason)") }
  }

  /// Prints how many lines were refused without a message, and throws if `count`, the number of records, is 0.
  func finish(count: Int) throws(Failure) {
    let more = refused - Self.shownRefusals
    if more > 0 { Output.complain("refused \(more) more \(more == 1 ? "record" : "records")") }
    guard count == 0 else { return }
    let what = refused > 0 ? "no whole record line" : "no record line: was CRASHSHIELD_RECORD=stderr set?"
    throw Failure(.nothingFound, "\(name) has \(what)")
  }
}

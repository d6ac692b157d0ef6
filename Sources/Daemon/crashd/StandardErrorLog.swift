import Glibc
import Logging

/// Writes log lines to standard error.
///
/// If standard error is the journal, a line begins with the level in the format of sd-daemon(3). The line contains no
/// time, because the journal adds the time. Otherwise, a line begins with the time.
struct StandardErrorLog: LogHandler {
  var logLevel: Logger.Level
  var metadata: Logger.Metadata = [:]
  private let isJournal: Bool

  init(level: Logger.Level, isJournal: Bool) {
    logLevel = level
    self.isJournal = isJournal
  }

  subscript(metadataKey key: String) -> Logger.Metadata.Value? {
    get { metadata[key] }
    set { metadata[key] = newValue }
  }

  func log(event: LogEvent) {
    let text = "\(event.message)".replacing("\n", with: " ")
    let line = isJournal ? "<\(Self.priority(event.level))>\(text)\n" : "\(Self.time()) \(event.level): \(text)\n"
    let bytes = Array(line.utf8)
    // Write each line with one call, because otherwise lines of several threads could be mixed. write reads
    // `bytes.count` bytes, which is the size of the array.
    _ = unsafe write(STDERR_FILENO, bytes, bytes.count)
  }

  private static func priority(_ level: Logger.Level) -> Int {
    switch level {
    case .trace, .debug: 7
    case .info: 6
    case .notice: 5
    case .warning: 4
    case .error: 3
    case .critical: 2
    }
  }

  /// Returns the local time with its date and time zone, because the log can be read on another day and in another time
  /// zone.
  private static func time() -> String {
    var now = time_t()
    var parts = unsafe tm()
    var bytes = [CChar](repeating: 0, count: 64)
    // The calls of `time` and `localtime_r` each write one structure. `strftime` writes at most `bytes.count` bytes,
    // including a zero byte at the end.
    unsafe Glibc.time(&now)
    unsafe localtime_r(&now, &parts)
    let count = unsafe strftime(&bytes, bytes.count, "%Y-%m-%d %H:%M:%S %Z", &parts)
    return String(decoding: bytes.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }
}

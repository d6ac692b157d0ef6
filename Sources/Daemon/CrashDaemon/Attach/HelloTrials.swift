import Glibc
import LinuxSystem

/// Records which hello is being read.
protocol HelloBook: Sendable {
  /// A hello will be read.
  mutating func begin(_ name: String) -> HelloTrials.Verdict
  /// It was read.
  mutating func end(_ name: String)
}

/// Counts attempts to read the hellos that an earlier crashd left (crash-loop guard): a hello that crashes crashd each
/// time waits for another crashd.
///
/// A number is written to a file before a hello is read, and removed afterwards. Hellos are read one after the other,
/// so the next start finds the one that crashed crashd.
struct HelloTrials: HelloBook {
  enum Verdict: Equatable {
    case look
    /// crashd has crashed at it too often: systemd keeps it.
    case skip
    /// And there are so many of these that systemd drops it.
    case giveUp
  }

  /// The attempts for one hello, in addition to the first one before it was stored.
  static let limit = 3
  /// The number that systemd keeps.
  static let skipLimit = 16
  private static let limitBytes = 256 << 10

  private let path: String
  private let program: String
  /// Logs a failed write once.
  private let tell: (@Sendable (SystemError) -> Void)?
  private var isTold = false
  private var counts: [String: Int] = [:]
  private var skipped = 0

  /// Reads the records of an earlier crashd for these connections.
  ///
  /// Records of another program, such as the version before an upgrade, are ignored.
  init(
    path: String, kept names: Set<String>, program: String = Self.ownProgram(),
    tell: (@Sendable (SystemError) -> Void)? = nil
  ) {
    self.path = path
    self.program = program
    self.tell = tell
    let lines = (SmallFile.text(at: path, limitBytes: Self.limitBytes) ?? "").split(separator: "\n")
    guard let first = lines.first, first == program else { return }
    for line in lines.dropFirst() {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard words.count == 2, names.contains(words[0]), let count = Int(words[1]), (1...Self.limit).contains(count)
      else { continue }
      counts[words[0]] = count
    }
  }

  /// Identifies the file that this crashd was started from.
  static func ownProgram() -> String {
    var status = stat()
    // stat writes one struct stat.
    guard unsafe stat("/proc/self/exe", &status) == 0 else { return "unknown" }
    let time = status.st_mtim
    return "\(status.st_dev):\(status.st_ino):\(status.st_size):\(time.tv_sec).\(time.tv_nsec)"
  }

  mutating func begin(_ name: String) -> Verdict {
    let count = counts[name, default: 0]
    guard count < Self.limit else {
      skipped += 1
      return skipped <= Self.skipLimit ? .skip : .giveUp
    }
    counts[name] = count + 1
    write()
    return .look
  }

  mutating func end(_ name: String) {
    counts[name] = nil
    write()
  }

  private mutating func write() {
    if counts.isEmpty {
      // A missing file has the same meaning.
      _ = unsafe unlink(path)
      return
    }
    let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    do throws(SystemError) { try SmallFile.replace(path, by: "\(program)\n\(list)") } catch {
      // They are read without records, as the best effort. An old count would grow although crashd does not crash.
      _ = unsafe unlink(path)
      counts = [:]
      if !isTold { tell?(error) }
      isTold = true
    }
  }
}

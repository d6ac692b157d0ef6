import Glibc
import LinuxSystem

/// Records which hello crashd is about to read.
protocol HelloBook: Sendable {
  /// Call this function before a hello is read.
  mutating func begin(_ name: String) -> HelloTrials.Verdict
  /// Call this function after the hello was read.
  mutating func end(_ name: String)
}

/// Counts the attempts to read each hello that an earlier crashd left, because a hello that crashes crashd would cause
/// a crash loop.
///
/// A hello that crashes crashd several times stays unread until another version of crashd runs.
///
/// crashd writes the count of a hello to a file before it reads the hello, and removes the count afterwards. crashd
/// reads one hello at a time. If crashd crashed, the file therefore contains the hello that it was reading.
struct HelloTrials: HelloBook {
  enum Verdict: Equatable {
    case look
    /// crashd has crashed too often while it read this hello.
    ///
    /// The hello stays unread in systemd's descriptor store.
    case skip
    /// There are too many unread hellos.
    ///
    /// This hello is removed from systemd's descriptor store.
    case giveUp
  }

  /// The maximum number of attempts to read a stored hello, without the attempt before the hello was stored.
  static let limit = 3
  /// The maximum number of unread hellos that stay in the descriptor store.
  static let skipLimit = 16
  private static let limitBytes = 256 << 10

  private let path: String
  private let program: String
  /// The callback that logs the first failed write.
  private let tell: (@Sendable (SystemError) -> Void)?
  private var isTold = false
  private var counts: [String: Int] = [:]
  private var skipped = 0

  /// Reads the counts that an earlier crashd wrote for these connections.
  ///
  /// The counts of another executable file, such as the version before an upgrade, are ignored.
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

  /// Returns a string that identifies the executable file of this crashd.
  static func ownProgram() -> String {
    var status = stat()
    // stat writes at most one struct stat.
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
      // Remove the file, because a missing file means that there are no counts.
      _ = unsafe unlink(path)
      return
    }
    let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    do throws(SystemError) { try SmallFile.replace(path, by: "\(program)\n\(list)") } catch {
      // If the counts cannot be written, read the hellos without counts. Remove the old file, because its counts would
      // increase at each start although crashd does not crash.
      _ = unsafe unlink(path)
      counts = [:]
      if !isTold { tell?(error) }
      isTold = true
    }
  }
}

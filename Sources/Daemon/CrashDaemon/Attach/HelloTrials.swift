import Glibc
import LinuxSystem

/// Records which hello (the first message of a process) crashd is about to read, so that a later crashd can detect a
/// hello that crashes crashd.
protocol HelloBook: Sendable {
  /// Must be called before crashd reads a hello.
  mutating func begin(_ name: String) -> HelloTrials.Verdict
  /// Must be called after crashd read the hello.
  mutating func end(_ name: String)
}

/// Counts the attempts to read each hello (the first message of a process) that an earlier crashd left.
///
/// The count is needed because a hello that crashes crashd would cause a crash loop.
///
/// A hello that crashes crashd several times stays unread until another version of crashd runs.
///
/// Before crashd reads a hello, it writes the hello's count to a file. After the hello was read, crashd removes the
/// count. crashd reads one hello at a time. Therefore, after a crash of crashd, the file contains the hello that crashd
/// was reading.
struct HelloTrials: HelloBook {
  enum Verdict: Equatable {
    case look
    /// crashd has crashed too often while it read the hello, so it must not read the hello again.
    ///
    /// The hello stays unread in systemd's descriptor store.
    case skip
    /// There are too many hellos that must not be read.
    ///
    /// In this case, crashd removes the hello from systemd's descriptor store.
    case giveUp
  }

  /// The maximum number of attempts to read a stored hello.
  ///
  /// The attempt of the crashd that stored the hello is not included.
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

  /// Reads the counts that an earlier crashd wrote for the given connections.
  ///
  /// Counts that another executable file of crashd wrote, such as the version before an upgrade, are ignored.
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
      // Remove the file, because a missing file means that all counts are zero.
      _ = unsafe unlink(path)
      return
    }
    let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    do throws(SystemError) { try SmallFile.replace(path, by: "\(program)\n\(list)") } catch {
      // If the counts cannot be written, crashd still reads the hellos. Remove the old file, because otherwise its
      // counts would increase at each start although crashd did not crash.
      _ = unsafe unlink(path)
      counts = [:]
      if !isTold { tell?(error) }
      isTold = true
    }
  }
}

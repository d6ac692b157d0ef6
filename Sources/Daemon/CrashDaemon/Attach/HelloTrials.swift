import Glibc
import LinuxSystem

/// The record of which hello is being read.
protocol HelloBook: Sendable {
  /// A hello is to be read.
  mutating func begin(_ name: String) -> HelloTrials.Verdict
  /// It was.
  mutating func end(_ name: String)
}

/// Hellos that a crashd before this one has left, while they are read: one that ends crashd each time waits for
/// another crashd.
///
/// A number is written down before a hello is read, and struck out behind it. They are read one after the other,
/// so the next start finds the one at which crashd ended.
struct HelloTrials: HelloBook {
  enum Verdict: Equatable {
    case look
    /// crashd has ended at it often enough: it stays with systemd.
    case skip
    /// And there are so many of these that systemd shall let go of it.
    case giveUp
  }

  /// How often one is read, besides the first time, before it was kept.
  static let limit = 3
  /// So many stay with systemd.
  static let skipLimit = 16
  private static let limitBytes = 256 << 10

  private let path: String
  private let program: String
  /// What could not be written is logged once.
  private let tell: (@Sendable (SystemError) -> Void)?
  private var isTold = false
  private var counts: [String: Int] = [:]
  private var skipped = 0

  /// Reads what the crashd before this one has written down of these connections; what another program has written, such
  /// as the one of before an upgrade, counts for nothing.
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

  /// Which file this crashd was started from.
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
      // Not there is as good.
      _ = unsafe unlink(path)
      return
    }
    let list = counts.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)\n" }.joined()
    do throws(SystemError) { try SmallFile.replace(path, by: "\(program)\n\(list)") } catch {
      // They are read without: as good as can be. An old count would grow without a crashd that ends.
      _ = unsafe unlink(path)
      counts = [:]
      if !isTold { tell?(error) }
      isTold = true
    }
  }
}

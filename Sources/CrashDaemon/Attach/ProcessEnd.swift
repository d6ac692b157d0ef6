import CCrashDaemon
import CrashReport
import Glibc

/// How an attached process went away, as far as the kernel tells.
enum ProcessEnd: Sendable, Equatable {
  /// It lives on without us: it became another program, or closed the connection.
  case goesOn
  /// It has ended, with this status of wait(2).
  case status(Int32)
  /// It has ended, and this kernel does not tell how.
  case unknown

  /// How the process of a pidfd ended; nil while that is not known yet.
  ///
  /// The kernel tells it once the parent has taken the status. A parent that never does so leaves a zombie, of which
  /// `/proc` tells it to those who may trace the process.
  static func of(pidfd: Descriptor, peer: Peer) -> ProcessEnd? {
    var status: Int32 = 0
    // The call writes one number.
    switch unsafe cd_process_end(pidfd.number, &status) {
    case 0: return .status(status)
    case EAGAIN: return nil
    case EBUSY: return zombie(pidfd, peer)
    default: return zombie(pidfd, peer) ?? .unknown
    }
  }

  private static func zombie(_ pidfd: Descriptor, _ peer: Peer) -> ProcessEnd? {
    guard let stat = ProcessStat.read(pid: peer.pid), stat.state == "Z" else { return nil }
    // Who may not trace it reads 0, whatever it was: root in a container too, and a user whose process had more rights.
    guard stat.exitStatus != 0 else { return nil }
    // Still there: then the pid was its own all the time.
    guard kill(peer.pid, 0) == 0 || errno == EPERM else { return nil }
    return .status(stat.exitStatus)
  }
}

/// What `/proc/PID/stat` tells.
struct ProcessStat: Equatable {
  /// The kernel's letter, such as `Z` for a zombie.
  var state: Character
  /// `PF_…` of the first thread.
  var flags: UInt64
  /// As wait(2) tells it; 0 for whom it does not concern.
  var exitStatus: Int32

  /// PF_EXITING: the first thread is on its way out.
  var isExiting: Bool { flags & 4 != 0 || state == "Z" || state == "X" }

  /// nil when there is no such process, or no `/proc`.
  static func read(pid: Int32) -> ProcessStat? {
    SmallFile.text(at: "/proc/\(pid)/stat").flatMap(parse)
  }

  /// `PID (NAME) STATE …`; the name may hold anything, also parentheses.
  static func parse(_ text: String) -> ProcessStat? {
    // By bytes: a name may end in what would make one character with the parenthesis.
    guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    let fields = text[text.utf8.index(after: end)...].split(whereSeparator: \.isWhitespace)
    guard fields.count >= 50, let state = fields[0].first, let flags = UInt64(fields[6]),
      let exitStatus = Int32(fields[49])
    else { return nil }
    return ProcessStat(state: state, flags: flags, exitStatus: exitStatus)
  }
}

/// Files of the kernel that fit into a page.
enum SmallFile {
  /// Its beginning; nil when it cannot be read.
  static func text(at path: String) -> String? {
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    guard descriptor >= 0 else { return nil }
    let file = Descriptor(owning: descriptor)
    var bytes = [UInt8](repeating: 0, count: 4_096)
    // read writes at most as many bytes as the array has.
    let count = unsafe Glibc.read(file.number, &bytes, bytes.count)
    guard count > 0 else { return nil }
    return String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}

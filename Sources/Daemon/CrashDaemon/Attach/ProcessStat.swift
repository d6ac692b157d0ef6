import CLinux
import Glibc
import LinuxSystem

/// What `/proc/PID/stat` tells.
struct ProcessStat: Equatable {
  /// The kernel's letter, such as `Z` for a zombie.
  var state: Character
  /// `PF_…` of the first thread.
  var flags: UInt64
  /// When it started, in ticks since the machine did: with the pid it is one process and no other.
  var startTime: UInt64
  /// Signals that wait for the first thread, bit 0 for signal 1; of a process that is being killed SIGKILL is one.
  var pending: UInt64
  /// As wait(2) tells it; 0 for whom it does not concern.
  var exitStatus: Int32

  /// PF_EXITING: the first thread is on its way out.
  var isExiting: Bool { flags & 4 != 0 || state == "Z" || state == "X" }

  /// It was killed, or is about to see that it was.
  var isBeingKilled: Bool { isExiting || pending & (1 << (UInt64(SIGKILL) - 1)) != 0 }

  /// What `/proc` shows of the process of a pidfd; nil when nothing is left of it: its pid may be another's then.
  static func read(pid: Int32, of pidfd: Descriptor) -> ProcessStat? {
    let stat = read(pid: pid)
    // Asked afterwards: a process that is still there had its pid all the time.
    return cd_process_exists(pidfd.number) ? stat : nil
  }

  /// nil when there is no such process, or no `/proc`.
  static func read(pid: Int32) -> ProcessStat? {
    SmallFile.text(at: "/proc/\(pid)/stat").flatMap(parse)
  }

  /// `PID (NAME) STATE …`; the name may hold anything, also parentheses.
  static func parse(_ text: String) -> ProcessStat? {
    // By bytes: a name may end in what would make one character with the parenthesis.
    guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    // Numbers and letters of ASCII, with one space between them, and a line's end.
    let fields = text.utf8[text.utf8.index(after: end)...]
      .split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.map(Substring.init)
    guard fields.count >= 50, let state = fields[0].first, let flags = UInt64(fields[6]),
      let startTime = UInt64(fields[19]), let pending = UInt64(fields[28]), let exitStatus = Int32(fields[49])
    else { return nil }
    return ProcessStat(state: state, flags: flags, startTime: startTime, pending: pending, exitStatus: exitStatus)
  }
}

/// The program that a process runs, as the file that it is.
struct ProcessImage: Equatable, Sendable {
  var device: UInt64
  var inode: UInt64

  /// nil where crashd may not see the process, and when it is gone.
  static func of(pid: Int32, _ pidfd: Descriptor) -> ProcessImage? {
    var facts = cd_file_facts()
    // The call writes one structure, and asks no file system: that of the program may be dead.
    guard unsafe cd_process_look_at_program(pid, &facts) == 0, cd_process_exists(pidfd.number) else { return nil }
    return ProcessImage(device: facts.device, inode: facts.inode)
  }
}

import CLinux
import Glibc
import LinuxSystem

/// The fields of `/proc/PID/stat`.
struct ProcessStat: Equatable {
  /// The kernel's letter for the state, such as `Z` for a zombie.
  var state: Character
  /// `PF_…` of the first thread.
  var flags: UInt64
  /// The start time in ticks since boot: together with the pid it identifies the process.
  var startTime: UInt64
  /// Signals pending for the first thread, bit 0 for signal 1; SIGKILL is among them while a process is being killed.
  var pending: UInt64
  /// The status as of wait(2); 0 without the right to see it.
  var exitStatus: Int32

  /// PF_EXITING: the first thread exits.
  var isExiting: Bool { flags & 4 != 0 || state == "Z" || state == "X" }

  /// Whether it was killed, or a SIGKILL is pending.
  var isBeingKilled: Bool { isExiting || pending & (1 << (UInt64(SIGKILL) - 1)) != 0 }

  /// Reads `/proc` for the process of a pidfd; nil when the process was reaped, because its pid may be another's then.
  static func read(pid: Int32, of pidfd: Descriptor) -> ProcessStat? {
    let stat = read(pid: pid)
    // Checked afterwards: a process that still exists had its pid all the time.
    return cd_process_exists(pidfd.number) ? stat : nil
  }

  /// Nil when the process or `/proc` does not exist.
  static func read(pid: Int32) -> ProcessStat? {
    SmallFile.text(at: "/proc/\(pid)/stat").flatMap(parse)
  }

  /// Parses `PID (NAME) STATE …`; the name may contain anything, also parentheses.
  static func parse(_ text: String) -> ProcessStat? {
    // By bytes: the last bytes of a name may combine with the parenthesis into one character.
    guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    // Numbers and letters of ASCII, separated by one space, and a line end.
    let fields = text.utf8[text.utf8.index(after: end)...]
      .split { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\n") }.map(Substring.init)
    guard fields.count >= 50, let state = fields[0].first, let flags = UInt64(fields[6]),
      let startTime = UInt64(fields[19]), let pending = UInt64(fields[28]), let exitStatus = Int32(fields[49])
    else { return nil }
    return ProcessStat(state: state, flags: flags, startTime: startTime, pending: pending, exitStatus: exitStatus)
  }
}

/// The program file that a process runs.
struct ProcessImage: Equatable, Sendable {
  var device: UInt64
  var inode: UInt64

  /// Nil where crashd may not see the process, and after its end.
  static func of(pid: Int32, _ pidfd: Descriptor) -> ProcessImage? {
    var facts = cd_file_facts()
    // The call writes one structure, and asks no file system: the program's may be dead.
    guard unsafe cd_process_look_at_program(pid, &facts) == 0, cd_process_exists(pidfd.number) else { return nil }
    return ProcessImage(device: facts.device, inode: facts.inode)
  }
}

import CLinux
import Glibc
import LinuxSystem

/// The fields of `/proc/PID/stat` that crashd uses.
struct ProcessStat: Equatable {
  /// The letter of the process state in proc(5), such as `Z` for a zombie.
  var state: Character
  /// The flags (`PF_…`) of the first thread.
  var flags: UInt64
  /// The start time in ticks since boot, which identifies the process together with the pid.
  var startTime: UInt64
  /// The signals that are pending for the first thread; bit 0 is signal 1.
  ///
  /// If a process is being killed, SIGKILL is pending.
  var pending: UInt64
  /// The exit status in the format of wait(2); 0 if the reader is not allowed to trace the process.
  var exitStatus: Int32

  /// Whether the first thread is exiting (PF_EXITING).
  var isExiting: Bool { flags & 4 != 0 || state == "Z" || state == "X" }

  /// Whether the process is exiting, or a SIGKILL is pending.
  var isBeingKilled: Bool { isExiting || pending & (1 << (UInt64(SIGKILL) - 1)) != 0 }

  /// Reads `/proc` for the process of a pidfd.
  ///
  /// Returns nil if the parent has reaped the process, because its pid can then belong to another process.
  static func read(pid: Int32, of pidfd: Descriptor) -> ProcessStat? {
    let stat = read(pid: pid)
    // Check after the read that the process still exists. If the process exists, the pid belonged to this process
    // during the read.
    return cd_process_exists(pidfd.number) ? stat : nil
  }

  /// Reads `/proc` for a pid; nil if the process does not exist or `/proc` is not mounted.
  static func read(pid: Int32) -> ProcessStat? {
    SmallFile.text(at: "/proc/\(pid)/stat").flatMap(parse)
  }

  /// Parses `PID (NAME) STATE …`.
  ///
  /// NAME can contain any characters, including parentheses.
  static func parse(_ text: String) -> ProcessStat? {
    // Search for the byte and not for the character, because the last bytes of a name and the parenthesis can form one
    // character.
    guard let end = text.utf8.lastIndex(of: UInt8(ascii: ")")) else { return nil }
    // The rest of the line consists of ASCII numbers and letters, with one space between them, and of a newline.
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

  /// Identifies the program file of a process; nil if crashd is not allowed to read the link, or if the process has
  /// ended.
  static func of(pid: Int32, _ pidfd: Descriptor) -> ProcessImage? {
    var facts = cd_file_facts()
    // The call writes one structure, to `facts`. The call does not access the file system of the program, which can
    // block forever.
    guard unsafe cd_process_look_at_program(pid, &facts) == 0, cd_process_exists(pidfd.number) else { return nil }
    return ProcessImage(device: facts.device, inode: facts.inode)
  }
}

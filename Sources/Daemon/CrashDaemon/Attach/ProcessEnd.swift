import CLinux
import Glibc
import LinuxSystem

/// The reason why a process's connection was closed, if the kernel reports the reason.
enum ProcessEnd: Sendable, Equatable {
  /// The process has not ended, but replaced its program or closed the connection.
  case goesOn
  /// The process has ended with the given exit status, in the format of wait(2).
  case status(Int32)
  /// The process has ended, but the kernel does not report the exit status.
  case unknown

  /// The signal that ended the process; nil if the process called `exit` or still runs, or if its end is unknown.
  var signal: Int32? {
    guard case .status(let status) = self, status & 0x7f != 0 else { return nil }
    return status & 0x7f
  }

  /// Determines how the process of a pidfd ended; nil if the kernel does not report the end yet.
  ///
  /// The kernel reports the exit status after the parent has reaped the process. If the parent never reaps the process,
  /// the process stays a zombie. A process that is allowed to trace the zombie (ptrace) can read the status from
  /// `/proc`.
  static func of(pidfd: Descriptor, pid: Int32) -> ProcessEnd? {
    var status: Int32 = 0
    // The call writes one number, to `status`.
    switch unsafe cd_process_end(pidfd.number, &status) {
    case 0: return .status(status)
    case EAGAIN: return nil
    case EBUSY: return zombie(pidfd, pid)
    default: return zombie(pidfd, pid) ?? .unknown
    }
  }

  private static func zombie(_ pidfd: Descriptor, _ pid: Int32) -> ProcessEnd? {
    guard let stat = ProcessStat.read(pid: pid, of: pidfd), stat.state == "Z" else { return nil }
    // If crashd is not allowed to trace the process, the kernel shows the exit status 0, which must not be used. This
    // is the case if crashd runs as root in a container, or if the process has more privileges than crashd's user.
    guard stat.exitStatus != 0 else { return nil }
    return .status(stat.exitStatus)
  }
}

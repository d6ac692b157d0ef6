import CLinux
import Glibc
import LinuxSystem

/// How an attached process ended or disconnected, as far as the kernel reports.
enum ProcessEnd: Sendable, Equatable {
  /// It still runs, or ran on: it replaced its program, or closed the connection.
  case goesOn
  /// It has ended, with this status of wait(2).
  case status(Int32)
  /// It has ended, and this kernel does not report how.
  case unknown

  /// The signal that ended it.
  var signal: Int32? {
    guard case .status(let status) = self, status & 0x7f != 0 else { return nil }
    return status & 0x7f
  }

  /// Determines how the process of a pidfd ended; nil while that is not known yet.
  ///
  /// The kernel reports it once the parent has reaped the process. A parent that never does leaves a zombie, whose
  /// status `/proc` shows to those who may trace the process.
  static func of(pidfd: Descriptor, pid: Int32) -> ProcessEnd? {
    var status: Int32 = 0
    // The call writes one number.
    switch unsafe cd_process_end(pidfd.number, &status) {
    case 0: return .status(status)
    case EAGAIN: return nil
    case EBUSY: return zombie(pidfd, pid)
    default: return zombie(pidfd, pid) ?? .unknown
    }
  }

  private static func zombie(_ pidfd: Descriptor, _ pid: Int32) -> ProcessEnd? {
    guard let stat = ProcessStat.read(pid: pid, of: pidfd), stat.state == "Z" else { return nil }
    // Without the right to trace it, the status reads as 0: for root in a container, and for a user of a process that
    // had more rights.
    guard stat.exitStatus != 0 else { return nil }
    return .status(stat.exitStatus)
  }
}

internal import CrashReport
import Glibc
internal import LinuxSystem

/// Writes to a descriptor at once, without a buffer of its own.
public enum Output: Sendable {
  /// Writes all of the text.
  /// - Throws: `Failure`; a quiet one when the reader is gone, as after `| head`.
  public static func write(_ text: String, to descriptor: Int32 = 1) throws(Failure) {
    try write(Array(text.utf8), to: descriptor)
  }

  /// Writes all of the bytes.
  /// - Throws: `Failure`; a quiet one when the reader is gone.
  public static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
    var written = 0
    while written < bytes.count {
      // The pointer covers `bytes` and is used during the call only.
      let count = unsafe bytes.withUnsafeBytes { buffer in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
        return unsafe Glibc.write(descriptor, rest.baseAddress, rest.count)
      }
      if count >= 0 {
        written += count
        continue
      }
      switch errno {
      case EINTR: continue
      case EAGAIN:
        var set = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
        // The pointer is used during the call only.
        _ = unsafe poll(&set, 1, -1)
      case EPIPE: throw Failure(.done, "")
      default: throw Failure(.nothingFound, "cannot write the output (\(SystemError.text(errno)))")
      }
    }
  }

  /// One line on standard error that says who speaks.
  ///
  /// A standard error that cannot be written leaves no place for an error.
  public static func complain(_ message: String) {
    do throws(Failure) {
      try write("crashctl: \(CleanText.line(message))\n", to: STDERR_FILENO)
    } catch {
      return
    }
  }
}

internal import CrashReport
import Glibc
internal import LinuxSystem

/// Writes to a descriptor, unbuffered.
public enum Output: Sendable {
  /// Writes all of the text.
  /// - Throws: `Failure`; one without a message if the reader has closed, as in `| head`.
  public static func write(_ text: String, to descriptor: Int32 = 1) throws(Failure) {
    try write(Array(text.utf8), to: descriptor)
  }

  /// Writes all of the bytes.
  /// - Throws: `Failure`; one without a message if the reader has closed.
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

  /// Writes one line to standard error, with the program's name.
  ///
  /// Ignores a failure: there is no other place for an error.
  public static func complain(_ message: String) {
    do throws(Failure) {
      let terminal = Terminal(descriptor: STDERR_FILENO, environment: processEnvironment())
      try write(Prose.wrapped("crashctl: \(CleanText.line(message))", terminal, indent: 2), to: STDERR_FILENO)
    } catch {
      return
    }
  }
}

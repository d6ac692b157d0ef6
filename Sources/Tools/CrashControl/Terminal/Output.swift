internal import CrashReport
import Glibc
internal import LinuxSystem

/// Writes unbuffered to a descriptor.
public enum Output: Sendable {
  /// Writes the whole string.
  /// - Throws: `Failure`, without a message if the reader closed the pipe, as in `| head`.
  public static func write(_ text: String, to descriptor: Int32 = 1) throws(Failure) {
    try write(Array(text.utf8), to: descriptor)
  }

  /// Writes all bytes.
  /// - Throws: `Failure`, without a message if the reader closed the pipe.
  public static func write(_ bytes: [UInt8], to descriptor: Int32) throws(Failure) {
    var written = 0
    while written < bytes.count {
      // Invariant: the pointer and the count cover `bytes`, and write uses the pointer only during the call.
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
        // Invariant: poll uses the pointer only during the call.
        _ = unsafe poll(&set, 1, -1)
      case EPIPE: throw Failure(.done, "")
      default: throw Failure(.nothingFound, "cannot write the output (\(SystemError.text(errno)))")
      }
    }
  }

  /// Writes one line to standard error, with the program's name.
  ///
  /// A failure of the write is ignored, because there is no other place to report it.
  public static func complain(_ message: String) {
    do throws(Failure) {
      let terminal = Terminal(descriptor: STDERR_FILENO, environment: processEnvironment())
      try write(Prose.wrapped("crashctl: \(CleanText.line(message))", terminal, indent: 2), to: STDERR_FILENO)
    } catch {
      return
    }
  }
}

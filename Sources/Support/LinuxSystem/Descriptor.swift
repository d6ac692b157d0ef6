import CLinux
public import Glibc
import Synchronization

/// A file descriptor that is closed when it is no longer used.
public final class Descriptor: Sendable {
  /// Valid as long as this object lives.
  public let number: Int32
  /// What closes it; nil: this thread.
  private let closing: Mutex<(@Sendable (Int32) -> Void)?>

  /// Takes over a descriptor that is open; `closing` closes it where close(2) may wait too long for this thread.
  public init(owning number: Int32, closing: (@Sendable (Int32) -> Void)? = nil) {
    self.number = number
    self.closing = Mutex(closing)
  }

  /// Closes it on the thread that drops the last reference, as close(2) does not wait after all.
  public func closeAtOnce() { closing.withLock { $0 = nil } }

  deinit {
    if let close = closing.withLock({ $0 }) { close(number) } else { cd_close(number) }
  }

  /// Whether it is ready to be read now.
  public var isReadable: Bool {
    var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    // poll reads and writes one pollfd.
    return unsafe poll(&wanted, 1, 0) == 1
  }

  /// What fstat says; the file system of the file may have to answer.
  public func status() throws(SystemError) -> stat {
    var status = stat()
    // fstat writes one struct stat, which `status` is.
    guard unsafe fstat(number, &status) == 0 else { throw SystemError("fstat descriptor \(number)") }
    return status
  }
}

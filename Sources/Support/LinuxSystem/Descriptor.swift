import CLinux
public import Glibc
import Synchronization

/// A file descriptor that is closed when its last reference is dropped.
public final class Descriptor: Sendable {
  /// The number, which is valid as long as this object exists.
  public let number: Int32
  /// Closes the descriptor.
  ///
  /// If it is nil, the current thread closes it.
  private let closing: Mutex<(@Sendable (Int32) -> Void)?>

  /// Takes ownership of an open descriptor.
  ///
  /// `closing` closes it if close(2) might block this thread for too long.
  public init(owning number: Int32, closing: (@Sendable (Int32) -> Void)? = nil) {
    self.number = number
    self.closing = Mutex(closing)
  }

  /// Makes the thread that drops the last reference close the descriptor.
  ///
  /// Use it if close(2) cannot block.
  public func closeAtOnce() { closing.withLock { $0 = nil } }

  deinit {
    if let close = closing.withLock({ $0 }) { close(number) } else { cd_close(number) }
  }

  /// Whether the descriptor is ready to be read now.
  public var isReadable: Bool {
    var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    // poll reads and writes one pollfd, and uses the pointer only during the call.
    return unsafe poll(&wanted, 1, 0) == 1
  }

  /// Reads at most `limit` bytes of a file.
  ///
  /// The call does not block on a FIFO or device.
  public static func contents(of path: String, upTo limit: Int) throws(SystemError) -> ArraySlice<UInt8> {
    // open reads the path only during the call.
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw SystemError("read '\(path)'") }
    let (bytes, code) = Descriptor(owning: number).read(upTo: limit)
    try SystemError.check(code, "read '\(path)'")
    return bytes
  }

  /// Reads at most `limit` bytes, up to the end.
  /// - Returns: The bytes, and the errno of a read that failed after them, or 0.
  public func read(upTo limit: Int) -> (bytes: ArraySlice<UInt8>, error: Int32) {
    var bytes = [UInt8](repeating: 0, count: limit)
    var count = 0
    while count < limit {
      // read writes at most as many bytes as the slice has.
      let more = unsafe bytes[count...].withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, $0.count) }
      if more < 0 && errno == EINTR { continue }
      if more < 0 { return (bytes[..<count], errno) }
      if more == 0 { break }
      count += more
    }
    return (bytes[..<count], 0)
  }

  /// Returns the result of fstat.
  ///
  /// The call may wait for the file system.
  public func status() throws(SystemError) -> stat {
    var status = stat()
    // fstat fills in one struct stat.
    guard unsafe fstat(number, &status) == 0 else { throw SystemError("fstat descriptor \(number)") }
    return status
  }
}

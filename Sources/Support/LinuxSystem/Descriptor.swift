import CLinux
public import Glibc
import Synchronization

/// A file descriptor that is closed when its last reference is dropped.
public final class Descriptor: Sendable {
  /// The number, which is valid as long as this object exists.
  public let number: Int32
  /// Closes the descriptor.
  ///
  /// If this closure is nil, the thread that drops the last reference closes the descriptor with close(2).
  private let closing: Mutex<(@Sendable (Int32) -> Void)?>

  /// Takes ownership of an open descriptor.
  ///
  /// Pass `closing` if close(2) might block for too long. This closure must then close the descriptor, for example on
  /// another thread.
  public init(owning number: Int32, closing: (@Sendable (Int32) -> Void)? = nil) {
    self.number = number
    self.closing = Mutex(closing)
  }

  /// Removes the closure, so that the thread that drops the last reference closes the descriptor.
  ///
  /// Call this function if close(2) cannot block.
  public func closeAtOnce() { closing.withLock { $0 = nil } }

  deinit {
    if let close = closing.withLock({ $0 }) { close(number) } else { cd_close(number) }
  }

  /// Whether a read of the descriptor would not block.
  public var isReadable: Bool {
    var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    // Invariant: poll reads and writes one pollfd, and uses the pointer only during the call.
    return unsafe poll(&wanted, 1, 0) == 1
  }

  /// Reads at most `limit` bytes of a file.
  ///
  /// The call does not block on a FIFO or device.
  public static func contents(of path: String, upTo limit: Int) throws(SystemError) -> ArraySlice<UInt8> {
    // Invariant: open reads the path only during the call.
    let number = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard number >= 0 else { throw SystemError("read '\(path)'") }
    let (bytes, code) = Descriptor(owning: number).read(upTo: limit)
    try SystemError.check(code, "read '\(path)'")
    return bytes
  }

  /// Reads at most `limit` bytes, up to the end of the file.
  /// - Returns: The bytes, and the errno of the read that failed after these bytes, or 0 if no read failed.
  public func read(upTo limit: Int) -> (bytes: ArraySlice<UInt8>, error: Int32) {
    var bytes: ArraySlice<UInt8> = []
    // Most files are much smaller than the limit.
    var part = [UInt8](repeating: 0, count: min(limit, 65_536))
    while bytes.count < limit {
      let room = min(part.count, limit - bytes.count)
      // Invariant: read writes at most as many bytes as the array has.
      let more = unsafe part.withUnsafeMutableBytes { unsafe Glibc.read(number, $0.baseAddress, room) }
      if more < 0 && errno == EINTR { continue }
      if more < 0 { return (bytes, errno) }
      if more == 0 { break }
      bytes += part[..<more]
    }
    return (bytes, 0)
  }

  /// Returns the result of fstat.
  ///
  /// The call may wait for the file system.
  public func status() throws(SystemError) -> stat {
    var status = stat()
    // Invariant: fstat fills in the structure.
    guard unsafe fstat(number, &status) == 0 else { throw SystemError("fstat descriptor \(number)") }
    return status
  }
}

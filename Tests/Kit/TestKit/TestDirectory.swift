import FoundationEssentials
public import Glibc
public import LinuxSystem

/// A directory with a short path, because the path of a Unix socket is limited.
///
/// The deinit removes the directory.
public final class TestDirectory: Sendable {
  /// The path of the directory.
  public let path: String

  /// Creates the directory with a unique name.
  /// - Throws: An error of the file system.
  public init() throws {
    path = "/tmp/cs-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    // Errors are ignored here, because a deinit cannot throw.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }

  /// Creates a subdirectory unless it exists.
  ///
  /// Returns its path.
  /// - Throws: `SystemError`.
  public func directory(_ name: String, mode: mode_t = 0o700) throws(SystemError) -> String {
    let path = path + "/" + name
    guard unsafe mkdir(path, mode) == 0 || errno == EEXIST else { throw SystemError("make '\(path)'") }
    return path
  }

  /// Writes a file and returns its path.
  ///
  /// If the file is executable, no process has it open for writing when this function returns.
  /// - Throws: `SystemError`.
  public func write(_ bytes: [UInt8], to name: String, mode: UInt16 = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    // Does not use Data.write: its descriptor is not close-on-exec, so children of other tests would keep it open.
    let number = unsafe open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard number >= 0 else { throw SystemError("create '\(file)'") }
    try Self.fill(Descriptor(owning: number), bytes, mode: mode, file)
    if mode & 0o111 != 0 { try Self.awaitLastWriter(of: file) }
    return file
  }

  /// Writes the bytes, sets the mode, and closes the descriptor.
  private static func fill(_ descriptor: consuming Descriptor, _ bytes: [UInt8], mode: UInt16, _ file: String) throws {
    var rest = bytes[...]
    while !rest.isEmpty {
      // Invariant: write() reads at most as many bytes as the slice has.
      let count = unsafe rest.withUnsafeBytes { unsafe Glibc.write(descriptor.number, $0.baseAddress, $0.count) }
      if count < 0 && errno == EINTR { continue }
      guard count > 0 else { throw SystemError("write '\(file)'") }
      rest = rest.dropFirst(count)
    }
    guard fchmod(descriptor.number, mode_t(mode)) == 0 else { throw SystemError("chmod '\(file)'") }
  }

  /// Waits until no process has the file open for writing, because the kernel refuses to execute such a file (ETXTBSY).
  ///
  /// This process has closed the file, but a child of another test can have a copy of the descriptor until it calls
  /// exec.
  private static func awaitLastWriter(of file: String) throws {
    let number = unsafe open(file, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open '\(file)'") }
    let reader = Descriptor(owning: number)
    // The kernel grants a read lease only for a file that no process has open for writing. Limits the number of
    // attempts, because a process could keep the file open forever.
    for _ in 0..<60_000 {
      if fcntl(reader.number, setLease, F_RDLCK) == 0 { return }
      guard errno == EAGAIN else { throw SystemError("lease '\(file)'") }
      usleep(1_000)
    }
    throw SystemError("wait for the last writer of '\(file)'", code: ETIMEDOUT)
  }
}

// A constant of <linux/fcntl.h>, which Swift's Glibc module does not import.
private let setLease: Int32 = 1024

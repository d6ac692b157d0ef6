import Glibc

/// A file descriptor that is closed when nobody uses it any more.
final class Descriptor: Sendable {
  /// Valid as long as this object lives.
  let number: Int32

  /// Takes over a descriptor that is open.
  init(owning number: Int32) { self.number = number }

  deinit { close(number) }

  /// Whether it is ready to be read now.
  var isReadable: Bool {
    var wanted = pollfd(fd: number, events: Int16(POLLIN), revents: 0)
    // poll reads and writes one pollfd.
    return unsafe poll(&wanted, 1, 0) == 1
  }

  /// What fstat says.
  func status() throws(SystemError) -> stat {
    var status = stat()
    // fstat writes one struct stat, which `status` is.
    guard unsafe fstat(number, &status) == 0 else { throw SystemError("fstat descriptor \(number)") }
    return status
  }
}

extension stat {
  var isRegular: Bool { st_mode & S_IFMT == S_IFREG }
  var isDirectory: Bool { st_mode & S_IFMT == S_IFDIR }
  /// Somebody else than the owner can change it.
  var isSharedWritable: Bool { st_mode & 0o022 != 0 }
}

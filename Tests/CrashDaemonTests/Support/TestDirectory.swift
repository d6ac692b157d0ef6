import FoundationEssentials
import Glibc

@testable import CrashDaemon

/// A directory with a short path (sockets need one), removed at the end.
final class TestDirectory: Sendable {
  let path: String

  init() throws {
    path = "/tmp/cs-\(String(UInt32.random(in: .min ... .max), radix: 36))"
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
  }

  deinit {
    // A deinit has nobody to tell.
    do { try FileManager.default.removeItem(atPath: path) } catch {}
  }

  func write(_ bytes: [UInt8], to name: String, mode: UInt16 = 0o600) throws -> String {
    let file = "\(path)/\(name)"
    try Data(bytes).write(to: URL(fileURLWithPath: file))
    try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: file)
    if mode & 0o111 != 0 { try Self.awaitLastWriter(of: file) }
    return file
  }

  /// Returns when nobody has a file open for writing: until then it cannot be run (ETXTBSY).
  ///
  /// It was closed here; a child that another test is starting just now may hold a copy until it has become its program.
  private static func awaitLastWriter(of file: String) throws {
    let number = unsafe open(file, O_RDONLY | O_CLOEXEC)
    guard number >= 0 else { throw SystemError("open '\(file)'") }
    let reader = Descriptor(owning: number)
    // The kernel grants a read lease only on a file without writers. Bounded, for a writer that stays.
    for _ in 0..<100_000 {
      if fcntl(reader.number, setLease, F_RDLCK) == 0 { return }
      guard errno == EAGAIN else { throw SystemError("lease '\(file)'") }
      sched_yield()
    }
    throw SystemError("wait for the last writer of '\(file)'", code: ETIMEDOUT)
  }
}

// <linux/fcntl.h>; Swift's Glibc module does not show it.
private let setLease: Int32 = 1024

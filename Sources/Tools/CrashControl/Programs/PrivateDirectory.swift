import FoundationEssentials
import Glibc
internal import LinuxSystem

/// A temporary directory for one command, accessible only to its user.
struct PrivateDirectory: ~Copyable {
  /// A file system in memory.
  ///
  /// Container engines mount it writable even if the root file system is read-only.
  private static let memory = "/dev/shm"

  let path: String
  private let isKept: Bool

  /// Creates the directory in TMPDIR, else in `/tmp`, or in `/dev/shm` if `/tmp` is not writable.
  ///
  /// The directory contains sockets, whose paths have a limited length. Therefore TMPDIR is ignored if it is long.
  init(keep: Bool, environment: [String: String]) throws(Failure) {
    let wanted = environment["TMPDIR"] ?? ""
    let isUsable = wanted.hasPrefix("/") && wanted.utf8.count <= 48
    let parent = isUsable ? wanted : "/tmp"
    if let made = Self.make(in: parent) {
      path = made
    } else {
      let failure = errno
      guard !isUsable, let made = Self.make(in: Self.memory) else {
        throw Failure(.unreachable, "cannot make a directory in '\(parent)' (\(SystemError.text(failure))): set TMPDIR")
      }
      path = made
    }
    isKept = keep
  }

  private static func make(in parent: String) -> String? {
    var template = Array("\(parent)/crashctl-XXXXXX".utf8CString)
    // Invariant: mkdtemp replaces the last six characters of the template in place.
    guard unsafe mkdtemp(&template) != nil else { return nil }
    return String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
  }

  deinit {
    guard !isKept else { return }
    do {
      try FileManager.default.removeItem(atPath: path)
    } catch {
      Output.complain("cannot remove '\(path)' (\(error)), leaving it")
    }
  }
}

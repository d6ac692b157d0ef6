import FoundationEssentials
import Glibc
internal import LinuxSystem

/// A temporary directory for one command, accessible only to its user.
struct PrivateDirectory: ~Copyable {
  let path: String
  private let isKept: Bool

  /// Creates the directory.
  ///
  /// The directory contains sockets, whose paths have a limited length. Therefore TMPDIR is used only if it is short.
  init(keep: Bool, environment: [String: String]) throws(Failure) {
    let wanted = environment["TMPDIR"] ?? ""
    let parent = wanted.hasPrefix("/") && wanted.utf8.count <= 48 ? wanted : "/tmp"
    var template = Array("\(parent)/crashctl-XXXXXX".utf8CString)
    // Invariant: mkdtemp replaces the last six characters of the template in place.
    guard unsafe mkdtemp(&template) != nil else {
      throw Failure(.unreachable, "cannot make a directory in '\(parent)' (\(SystemError.text(errno)))")
    }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    isKept = keep
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

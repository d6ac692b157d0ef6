internal import CrashReport
import Glibc
import LinuxSystem
import Synchronization

/// The source code of a report's frames, as far as the user may see it.
///
/// The paths come from the crashed program, and a hostile one may name any file. So crashd never opens them: crashctl
/// does, with its user's privileges, and only regular files of modest size that the crashed process's user may reach
/// and
/// read too; else root would print files that this user must not see. It skips a file that was changed after the image
/// was built, because its lines differ. The time of the build comes from the image's file: after a deploy its path has
/// another build, and crashctl shows no source.
final class SourceFiles: Sendable {
  private static let fileLimitBytes = 4 << 20
  private static let allLimitBytes = 16 << 20
  private static let fileLimit = 64

  private struct State {
    var files: [String: [UInt8]?] = [:]
    var builds: [String: timespec?] = [:]
    var bytes = 0
  }

  private let uid: Int
  /// The build times by the paths of images.
  private let buildIDs: [String: String]
  private let state = Mutex(State())

  private init(_ report: CrashReport) {
    uid = report.process.uid
    buildIDs = Dictionary(report.images.map { ($0.path, $0.buildID) }) { first, _ in first }
  }

  /// A lookup that reads each file once.
  static func lookup(for report: CrashReport) -> SourceLookup {
    let files = SourceFiles(report)
    return { files.excerpt($0) }
  }

  private func excerpt(_ frame: CrashReport.Frame) -> SourceExcerpt? {
    guard let file = frame.file, file.hasPrefix("/"), let line = frame.line, let image = frame.image else { return nil }
    return state.withLock { state in
      let built = state.builds[image] ?? modification(of: image)
      if state.builds.count < Self.fileLimit { state.builds[image] = built }
      guard let built else { return nil }
      let bytes: [UInt8]?
      if let known = state.files[file] {
        bytes = known
      } else {
        guard state.files.count < Self.fileLimit, state.bytes < Self.allLimitBytes else { return nil }
        bytes = read(file, noLaterThan: built)
        state.files[file] = bytes
        state.bytes += bytes?.count ?? 0
      }
      return bytes.flatMap { SourceExcerpt(of: $0, around: line) }
    }
  }

  /// The time at which the image was built; nil if its path has another one now.
  private func modification(of path: String) -> timespec? {
    // A relative path would depend on the caller.
    guard path.hasPrefix("/"), let buildID = buildIDs[path], !buildID.isEmpty, ImageBuildID.read(path) == buildID else {
      return nil
    }
    var status = stat()
    // stat fills the struct that it is given.
    return unsafe stat(path, &status) == 0 ? status.st_mtim : nil
  }

  private func read(_ path: String, noLaterThan built: timespec) -> [UInt8]? {
    // Checked before it is opened: opening a device may have side effects.
    let place = unsafe open(path, openPath | O_CLOEXEC)
    guard place >= 0 else { return nil }
    defer { close(place) }
    var status = stat()
    // fstat fills the struct that it is given.
    guard unsafe fstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFREG, mayRead(status),
      status.st_size <= Self.fileLimitBytes,
      (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) <= (built.tv_sec, built.tv_nsec), mayReach(place)
    else { return nil }
    let descriptor = unsafe open("/proc/self/fd/\(place)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    return Array(Descriptor(owning: descriptor).read(upTo: Int(status.st_size)).bytes)
  }

  /// Whether the crashed process's user may certainly read the file: groups are not resolved.
  private func mayRead(_ status: stat) -> Bool {
    uid == 0 || status.st_mode & 0o004 != 0 || (Int(status.st_uid) == uid && status.st_mode & 0o400 != 0)
  }

  /// Whether that user may search each directory on the way.
  private func mayReach(_ place: Int32) -> Bool {
    if uid == 0 { return true }
    var buffer = [CChar](repeating: 0, count: 4_096)
    // readlink writes at most as many characters as the buffer has.
    let count = unsafe readlink("/proc/self/fd/\(place)", &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return false }
    var directory = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    while let slash = directory.lastIndex(of: "/") {
      directory = String(directory[..<slash])
      var status = stat()
      // stat fills the struct that it is given.
      guard unsafe stat(directory.isEmpty ? "/" : directory, &status) == 0,
        status.st_mode & 0o001 != 0 || (Int(status.st_uid) == uid && status.st_mode & 0o100 != 0)
      else { return false }
    }
    return true
  }
}

// <fcntl.h>; Swift's Glibc module does not show it.
private let openPath: Int32 = 0o10_000_000

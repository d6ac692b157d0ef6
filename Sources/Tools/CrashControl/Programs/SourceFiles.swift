internal import CrashReport
import Glibc
import LinuxSystem
import Synchronization

/// The source code of a report's frames, from files that both the caller and the crashed process's user are allowed to
/// read.
///
/// The paths come from the crashed program, and a hostile program can name any file. For this reason crashd never opens
/// these files. crashctl opens them with the privileges of its caller. crashctl opens only regular files of limited
/// size that the user of the crashed process is allowed to read. Without the check of this user's permission, root's
/// crashctl would print files that this user must not read.
///
/// A source file that was changed after the image was built is skipped, because its lines can differ. The modification
/// time of the image file serves as the build time. If the file at the path of the image now has another build id,
/// crashctl does not show source code.
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
  /// The build id of each image, by the path of the image.
  private let buildIDs: [String: String]
  private let state = Mutex(State())

  private init(_ report: CrashReport) {
    uid = report.process.uid
    buildIDs = Dictionary(report.images.map { ($0.path, $0.buildID) }) { first, _ in first }
  }

  /// Returns a lookup that reads each file once.
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

  /// Returns the time at which the image was built, or nil if the file at its path has another build id.
  private func modification(of path: String) -> timespec? {
    // Do not accept a relative path, because it would depend on the caller's working directory.
    guard path.hasPrefix("/"), let buildID = buildIDs[path], !buildID.isEmpty, ImageBuildID.read(path) == buildID else {
      return nil
    }
    var status = stat()
    // Invariant: stat fills in the structure.
    return unsafe stat(path, &status) == 0 ? status.st_mtim : nil
  }

  private func read(_ path: String, noLaterThan built: timespec) -> [UInt8]? {
    // Check the file type before opening the file for reading, because opening a device may have side effects. O_PATH
    // does not open the device.
    let place = unsafe open(path, openPath | O_CLOEXEC)
    guard place >= 0 else { return nil }
    defer { close(place) }
    var status = stat()
    // Invariant: fstat fills in the structure.
    guard unsafe fstat(place, &status) == 0, status.st_mode & S_IFMT == S_IFREG, mayRead(status),
      status.st_size <= Self.fileLimitBytes,
      (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) <= (built.tv_sec, built.tv_nsec), mayReach(place)
    else { return nil }
    let descriptor = unsafe open("/proc/self/fd/\(place)", O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { return nil }
    return Array(Descriptor(owning: descriptor).read(upTo: Int(status.st_size)).bytes)
  }

  /// Returns whether the mode of the file allows the crashed process's user to read it.
  ///
  /// The user's groups are not looked up, so a file that is readable only through a group is skipped.
  private func mayRead(_ status: stat) -> Bool {
    uid == 0 || status.st_mode & 0o004 != 0 || (Int(status.st_uid) == uid && status.st_mode & 0o400 != 0)
  }

  /// Returns whether the crashed process's user is allowed to search each directory of the path.
  private func mayReach(_ place: Int32) -> Bool {
    if uid == 0 { return true }
    var buffer = [CChar](repeating: 0, count: 4_096)
    // Invariant: readlink writes at most as many bytes as the buffer has.
    let count = unsafe readlink("/proc/self/fd/\(place)", &buffer, buffer.count)
    guard count > 0, count < buffer.count else { return false }
    var directory = String(decoding: buffer[..<count].map(UInt8.init(bitPattern:)), as: UTF8.self)
    while let slash = directory.lastIndex(of: "/") {
      directory = String(directory[..<slash])
      var status = stat()
      // Invariant: stat fills in the structure.
      guard unsafe stat(directory.isEmpty ? "/" : directory, &status) == 0,
        status.st_mode & 0o001 != 0 || (Int(status.st_uid) == uid && status.st_mode & 0o100 != 0)
      else { return false }
    }
    return true
  }
}

// The value of O_PATH in <fcntl.h>, which Swift's Glibc module does not export.
private let openPath: Int32 = 0o10_000_000

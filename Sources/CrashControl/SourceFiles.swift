internal import CrashReport
import Glibc
import Synchronization

/// The source of a report's frames, as far as it may be shown.
///
/// The paths stand in the crashed program, and a hostile one may name any file. Hence crashd never opens them: crashctl
/// does, with its user's rights, and only regular files of a modest size that the crashed process's user may read too;
/// else root would print what that user must not see. A file that was changed after the image was built is left out:
/// its lines are other ones.
enum SourceFiles {
  private static let limitBytes = 4 << 20

  /// A lookup that reads each file once.
  static func lookup(for report: CrashReport) -> SourceLookup {
    let texts = Mutex<[String: String?]>([:])
    let builds = Mutex<[String: timespec?]>([:])
    let uid = report.process.uid
    return { frame in
      guard let file = frame.file, file.hasPrefix("/"), let line = frame.line, let image = frame.image else {
        return nil
      }
      let built = builds.withLock { known in
        if let time = known[image] { return time }
        let time = modification(of: image)
        known[image] = time
        return time
      }
      guard let built else { return nil }
      let text = texts.withLock { known in
        if let text = known[file] { return text }
        let text = read(file, noLaterThan: built, uid: uid)
        known[file] = text
        return text
      }
      return text.flatMap { SourceExcerpt(of: $0, around: line) }
    }
  }

  private static func modification(of path: String) -> timespec? {
    var status = stat()
    // stat fills the struct that it is given.
    return unsafe stat(path, &status) == 0 ? status.st_mtim : nil
  }

  private static func read(_ path: String, noLaterThan built: timespec, uid: Int) -> String? {
    // Not to wait for the writer of a pipe.
    let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY)
    guard descriptor >= 0 else { return nil }
    defer { close(descriptor) }
    var status = stat()
    // fstat fills the struct that it is given.
    guard unsafe fstat(descriptor, &status) == 0, status.st_mode & S_IFMT == S_IFREG,
      status.st_mode & 0o004 != 0 || Int(status.st_uid) == uid, status.st_size <= limitBytes,
      (status.st_mtim.tv_sec, status.st_mtim.tv_nsec) <= (built.tv_sec, built.tv_nsec)
    else { return nil }
    var bytes = [UInt8](repeating: 0, count: Int(status.st_size))
    var count = 0
    while count < bytes.count {
      // read writes at most as many bytes as the slice has.
      let got = unsafe bytes[count...].withUnsafeMutableBytes { rest in
        unsafe Glibc.read(descriptor, rest.baseAddress, rest.count)
      }
      if got < 0 && errno == EINTR { continue }
      guard got > 0 else { break }
      count += got
    }
    return String(decoding: bytes[..<count], as: UTF8.self)
  }
}

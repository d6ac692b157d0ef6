import CrashSymbols

/// Opens the debug files of a stripped image, at the paths of ``DebugFilePaths``.
///
/// Other users may write to the directories of these files. Therefore each file is opened by the rules of
/// ``ImageFile``, and its build id must equal the image's build id.
struct DebugFiles: Sendable {
  /// The directory of all debug files, which is `/usr/lib/debug` on Debian.
  var directory: String
  /// The image's path, as the process reports it.
  var imagePath: String
  /// The user of the process.
  var user: UInt32
  /// The owner of the cache.
  ///
  /// A file of one user must not affect the caches for all users.
  var owner: CacheOwner

  /// The time-out for opening debug files beside an image, because the file system may block.
  private static let beside_ms = 5_000

  /// Opens the debug files that exist: first those in the system's directory, then those beside the image.
  ///
  /// Must run on a thread that may block. The time is limited.
  func open(buildID: String, link: String?) -> [ImageFile.Opened] {
    let installed = openInstalled(buildID: buildID, link: link)
    let place = ImageFile(buildID: buildID, path: imagePath, isExecutable: false).place
    let beside = ForeignFileWork.shared.wait(of: user, at: place, timeout_ms: Self.beside_ms) {
      openBeside(buildID: buildID, link: link)
    }
    return installed + (beside ?? [])
  }

  /// Opens debug files in the system's directory, which is on a local file system like crashd's own files.
  func openInstalled(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter(isInstalled).compactMap { open($0, buildID) }
  }

  /// Opens debug files beside the image.
  ///
  /// The process chose the file system of the image, and that file system may never answer.
  func openBeside(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter { !isInstalled($0) }.compactMap { open($0, buildID) }
  }

  /// Whether the path is in the system's directory.
  ///
  /// The process chooses the image's path, and `..` in that path could lead to any directory.
  private func isInstalled(_ path: String) -> Bool {
    path.hasPrefix(directory + "/") && !DebugFilePaths.leadsUp(path.dropFirst(directory.utf8.count))
  }

  private func open(_ path: String, _ buildID: String) -> ImageFile.Opened? {
    let file = ImageFile(buildID: buildID, path: path, isExecutable: false, descriptor: nil)
    // Errors are ignored, because most of these files do not exist.
    guard let opened = try? file.open(for: user), opened.owner == .allUsers || opened.owner == owner else {
      return nil
    }
    return opened
  }

  /// Returns the paths to try.
  func paths(buildID: String, link: String?) -> [String] {
    DebugFilePaths(directory: directory, imagePath: imagePath).paths(buildID: buildID, link: link)
  }
}

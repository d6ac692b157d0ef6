import CrashSymbols

/// Opens the debug files of a stripped image, at the paths of ``DebugFilePaths``.
///
/// Others write the directories of these files, so each file is opened by the rules of ``ImageFile``, and its build id
/// must be the image's.
struct DebugFiles: Sendable {
  /// The directory of all debug files, `/usr/lib/debug` on Debian.
  var directory: String
  /// The image's path, as the process reports it.
  var imagePath: String
  /// The user of the process.
  var user: UInt32
  /// The user of the cache: a user's file must not affect the caches of all users.
  var owner: CacheOwner

  /// The time-out of a file system for opening those beside an image.
  private static let beside_ms = 5_000

  /// Opens the debug files that exist: those of the machine's directory, then those beside the image.
  ///
  /// For a thread that may block; the time is bounded.
  func open(buildID: String, link: String?) -> [ImageFile.Opened] {
    let installed = openInstalled(buildID: buildID, link: link)
    let place = ImageFile(buildID: buildID, path: imagePath, isExecutable: false).place
    let beside = ForeignFileWork.shared.wait(of: user, at: place, timeout_ms: Self.beside_ms) {
      openBeside(buildID: buildID, link: link)
    }
    return installed + (beside ?? [])
  }

  /// Opens those of the machine's directory, which is as local as crashd's own files.
  func openInstalled(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter(isInstalled).compactMap { open($0, buildID) }
  }

  /// Opens those beside the image.
  ///
  /// The process chose that file system, which may never answer.
  func openBeside(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter { !isInstalled($0) }.compactMap { open($0, buildID) }
  }

  /// A process chooses the image's path: `..` in it would lead from the machine's directory to any other.
  private func isInstalled(_ path: String) -> Bool {
    path.hasPrefix(directory + "/") && !DebugFilePaths.leadsUp(path.dropFirst(directory.utf8.count))
  }

  private func open(_ path: String, _ buildID: String) -> ImageFile.Opened? {
    let file = ImageFile(buildID: buildID, path: path, isExecutable: false, descriptor: nil)
    // Most of them do not exist.
    guard let opened = try? file.open(for: user), opened.owner == .allUsers || opened.owner == owner else {
      return nil
    }
    return opened
  }

  /// The paths to try.
  func paths(buildID: String, link: String?) -> [String] {
    DebugFilePaths(directory: directory, imagePath: imagePath).paths(buildID: buildID, link: link)
  }
}

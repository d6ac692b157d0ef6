import CrashSymbols

/// Opens the debug files of a stripped image, at the paths that ``DebugFilePaths`` returns.
///
/// Other users can have write access to the directories of these files. Therefore, each file is opened by the rules of
/// ``ImageFile``, and its build ID must equal the build ID of the image.
struct DebugFiles: Sendable {
  /// The directory in which the system installs debug files: `/usr/lib/debug` on Debian.
  var directory: String
  /// Further directories with debug files by build ID, which an operator set.
  var others: [String] = []
  /// The path of the image, as the process reports it.
  var imagePath: String
  /// The user ID of the process that reported the image.
  var user: UInt32
  /// The users for which the symbol cache is allowed to be used.
  ///
  /// For a cache that all users share, debug files that belong to one user are not used.
  var owner: CacheOwner

  /// The time-out for opening debug files in the image's directory, whose file system can block.
  private static let beside_ms = 5_000

  /// Opens the existing debug files: first those in the system's directory, then those in the image's directory.
  ///
  /// This method must run on a thread that is allowed to block. The method blocks for at most `beside_ms`.
  func open(buildID: String, link: String?) -> [ImageFile.Opened] {
    let installed = openInstalled(buildID: buildID, link: link)
    let place = ImageFile(buildID: buildID, path: imagePath, isExecutable: false).place
    let beside = ForeignFileWork.shared.wait(of: user, at: place, timeout_ms: Self.beside_ms) {
      openBeside(buildID: buildID, link: link)
    }
    return installed + (beside ?? [])
  }

  /// Opens debug files in the system's directory of debug files.
  ///
  /// This directory is on a local file system, which does not block.
  func openInstalled(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter(isInstalled).compactMap { open($0, buildID) }
  }

  /// Opens debug files in the image's directory.
  ///
  /// The process chose the path of the image, so the file system of this directory can block forever.
  func openBeside(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter { !isInstalled($0) }.compactMap { open($0, buildID) }
  }

  /// Whether the path is in the system's directory of debug files.
  ///
  /// A path with `..` does not count, because the process chooses the image's path, and `..` could lead to any
  /// directory.
  private func isInstalled(_ path: String) -> Bool {
    ([directory] + others).contains { directory in
      path.hasPrefix(directory + "/") && !DebugFilePaths.leadsUp(path.dropFirst(directory.utf8.count))
    }
  }

  private func open(_ path: String, _ buildID: String) -> ImageFile.Opened? {
    let file = ImageFile(buildID: buildID, path: path, isExecutable: false, descriptor: nil)
    // Ignore errors, because most of the paths do not exist.
    guard let opened = try? file.open(for: user), opened.owner == .allUsers || opened.owner == owner else {
      return nil
    }
    return opened
  }

  /// Returns the paths at which a debug file can exist.
  func paths(buildID: String, link: String?) -> [String] {
    others.compactMap { DebugFilePaths.ofBuild(buildID, in: $0).map { $0 + ".debug" } }
      + DebugFilePaths(directory: directory, imagePath: imagePath).paths(buildID: buildID, link: link)
  }
}

import CrashSymbols

/// The debug files of a stripped image, where ``DebugFilePaths`` looks for them.
///
/// The files come from directories that others write: each is opened by the rules of ``ImageFile``, and its build id
/// must be the image's.
struct DebugFiles: Sendable {
  /// The directory of all debug files, `/usr/lib/debug` on Debian.
  var directory: String
  /// Where the process says that its image is.
  var imagePath: String
  /// Whose process it is.
  var user: UInt32
  /// Who uses the cache: a user's file must not speak for everybody.
  var owner: CacheOwner

  /// How long a file system may take to open those beside an image.
  private static let beside_ms = 5_000

  /// The files that can be opened: those of the machine's directory, then those beside the image.
  ///
  /// For a thread that may wait; it waits for a bounded time.
  func open(buildID: String, link: String?) -> [ImageFile.Opened] {
    let installed = openInstalled(buildID: buildID, link: link)
    let place = ImageFile(buildID: buildID, path: imagePath, isExecutable: false).place
    let beside = ForeignFileWork.shared.wait(of: user, at: place, timeout_ms: Self.beside_ms) {
      openBeside(buildID: buildID, link: link)
    }
    return installed + (beside ?? [])
  }

  /// Those of the machine's directory, which is as local as crashd's own files.
  func openInstalled(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter(isInstalled).compactMap { open($0, buildID) }
  }

  /// Those beside the image: the file system is the process's choice, and may never answer.
  func openBeside(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).filter { !isInstalled($0) }.compactMap { open($0, buildID) }
  }

  /// A process chooses the image's path: `..` in it leads from the machine's directory to any other.
  private func isInstalled(_ path: String) -> Bool {
    path.hasPrefix(directory + "/") && !DebugFilePaths.leadsUp(path.dropFirst(directory.utf8.count))
  }

  private func open(_ path: String, _ buildID: String) -> ImageFile.Opened? {
    let file = ImageFile(buildID: buildID, path: path, isExecutable: false, descriptor: nil)
    // Most of them are not there.
    guard let opened = try? file.open(for: user), opened.owner == .everybody || opened.owner == owner else {
      return nil
    }
    return opened
  }

  /// The paths to try.
  func paths(buildID: String, link: String?) -> [String] {
    DebugFilePaths(directory: directory, imagePath: imagePath).paths(buildID: buildID, link: link)
  }
}

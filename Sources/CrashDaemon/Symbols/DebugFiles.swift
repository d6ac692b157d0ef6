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

  /// The files that can be opened, each when it is asked for.
  func open(buildID: String, link: String?) -> [ImageFile.Opened] {
    paths(buildID: buildID, link: link).compactMap { path in
      let file = ImageFile(buildID: buildID, path: path, isExecutable: false, descriptor: nil)
      // Most of them are not there.
      guard let opened = try? file.open(for: user), opened.owner == .everybody || opened.owner == owner else {
        return nil
      }
      return opened
    }
  }

  /// The paths to try.
  func paths(buildID: String, link: String?) -> [String] {
    DebugFilePaths(directory: directory, imagePath: imagePath).paths(buildID: buildID, link: link)
  }
}

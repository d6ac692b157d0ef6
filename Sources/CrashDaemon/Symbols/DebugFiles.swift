/// Where the debug information of a stripped image may lie, in the order in which gdb looks for it.
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
    var paths: [String] = []
    if buildID.utf8.count > 2 {
      paths.append("\(directory)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug")
    }
    guard let link, Self.isName(link), imagePath.hasPrefix("/"), let slash = imagePath.lastIndex(of: "/") else {
      return paths
    }
    let folder = imagePath[..<slash]
    return paths + ["\(folder)/\(link)", "\(folder)/.debug/\(link)", "\(directory)\(folder)/\(link)"]
  }

  /// One component of a path: the image chose it, and a slash in it would lead anywhere.
  static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text.utf8.count <= 255
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7f }
  }
}

/// The paths of the debug files of a stripped image, in the order in which gdb searches.
///
/// crashd opens these paths, and `crashctl doctor` reports which of them exist.
public struct DebugFilePaths: Sendable {
  /// The directory of all debug files on Debian.
  public static let standardDirectory = "/usr/lib/debug"

  /// The directory of all debug files.
  public var directory: String
  /// The path of the image.
  public var imagePath: String

  /// Creates the paths for the image at a path.
  public init(directory: String = Self.standardDirectory, imagePath: String) {
    self.directory = directory
    self.imagePath = imagePath
  }

  /// Returns the paths to try.
  ///
  /// `link` is the file name in the image's `.gnu_debuglink` section.
  public func paths(buildID: String, link: String?) -> [String] {
    var paths: [String] = []
    if buildID.utf8.count > 2 {
      paths.append("\(directory)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2)).debug")
    }
    guard let link, Self.isName(link), imagePath.hasPrefix("/"), let slash = imagePath.lastIndex(of: "/") else {
      return paths
    }
    let folder = imagePath[..<slash]
    paths += ["\(folder)/\(link)", "\(folder)/.debug/\(link)"]
    // An image loaded through `$ORIGIN/../lib` has `..` in its path. For such a path there is no corresponding path
    // below the directory.
    return Self.leadsUp(folder) ? paths : paths + ["\(directory)\(folder)/\(link)"]
  }

  /// Whether a path has the component `..`, which may lead out of the directory at the beginning of the path.
  public static func leadsUp(_ path: some StringProtocol) -> Bool {
    path.split(separator: "/").contains { $0 == ".." }
  }

  /// Whether the text is a single path component.
  ///
  /// The image chose the text, and a slash in it could lead to any directory.
  public static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text.utf8.count <= 255
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7f }
  }
}

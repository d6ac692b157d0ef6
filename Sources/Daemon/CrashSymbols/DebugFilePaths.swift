/// The paths where the debug files of a stripped image may be, in the order in which gdb searches.
///
/// crashd opens these paths, and `crashctl doctor` reports which of them exist.
public struct DebugFilePaths: Sendable {
  /// The directory of installed debug files on Debian.
  public static let standardDirectory = "/usr/lib/debug"

  /// The directory of installed debug files.
  public var directory: String
  /// The path of the image.
  public var imagePath: String

  /// Creates the paths for an image.
  public init(directory: String = Self.standardDirectory, imagePath: String) {
    self.directory = directory
    self.imagePath = imagePath
  }

  /// Returns the paths where a debug file may be.
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
    // The path of an image that was loaded through `$ORIGIN/../lib` contains `..`. No path below the directory
    // corresponds to a path with `..`.
    return Self.leadsUp(folder) ? paths : paths + ["\(directory)\(folder)/\(link)"]
  }

  /// Whether a path has the component `..`.
  ///
  /// Appended to a directory, this path may lead out of the directory.
  public static func leadsUp(_ path: some StringProtocol) -> Bool {
    path.split(separator: "/").contains { $0 == ".." }
  }

  /// Whether the string is a single path component.
  ///
  /// The string comes from the untrusted image, and with a slash it could lead to any directory.
  public static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text.utf8.count <= 255
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7f }
  }
}

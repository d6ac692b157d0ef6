/// The paths of a stripped image's debug information, in the order of gdb's search.
///
/// crashd tries them, and `crashctl doctor` reports what it would find.
public struct DebugFilePaths: Sendable {
  /// The directory of all debug files on Debian.
  public static let standardDirectory = "/usr/lib/debug"

  /// The directory of all debug files.
  public var directory: String
  /// The path of the image.
  public var imagePath: String

  /// Paths for the image at a path.
  public init(directory: String = Self.standardDirectory, imagePath: String) {
    self.directory = directory
    self.imagePath = imagePath
  }

  /// The paths to try, for an image with this build id, and the file name that its `.gnu_debuglink` section has.
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
    // An image loaded through `$ORIGIN/../lib` has such a folder, but it names no place below the directory.
    return Self.leadsUp(folder) ? paths : paths + ["\(directory)\(folder)/\(link)"]
  }

  /// Whether a path has a component `..`, which may lead out of the directory that the path begins with.
  public static func leadsUp(_ path: some StringProtocol) -> Bool {
    path.split(separator: "/").contains { $0 == ".." }
  }

  /// One component of a path: the image chose it, and a slash in it would lead anywhere.
  public static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text.utf8.count <= 255
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7f }
  }
}

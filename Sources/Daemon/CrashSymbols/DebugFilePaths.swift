/// The paths at which the debug files of a stripped image can exist, in the order in which gdb tries them.
///
/// crashd opens the files at these paths, and `crashctl doctor` reports which of them exist.
public struct DebugFilePaths: Sendable {
  /// The directory in which Debian installs debug files.
  public static let standardDirectory = "/usr/lib/debug"

  /// The directory in which the system installs debug files.
  public var directory: String
  /// The path of the image.
  public var imagePath: String

  /// Creates the value for an image.
  public init(directory: String = Self.standardDirectory, imagePath: String) {
    self.directory = directory
    self.imagePath = imagePath
  }

  /// Returns the paths at which a debug file can exist.
  ///
  /// `link` is the file name in the image's `.gnu_debuglink` section; nil if the image has none.
  public func paths(buildID: String, link: String?) -> [String] {
    var paths: [String] = []
    if let path = Self.ofBuild(buildID, in: directory) { paths.append(path + ".debug") }
    guard let link, Self.isName(link), imagePath.hasPrefix("/"), let slash = imagePath.lastIndex(of: "/") else {
      return paths
    }
    let folder = imagePath[..<slash]
    paths += ["\(folder)/\(link)", "\(folder)/.debug/\(link)"]
    // If an image was loaded through `$ORIGIN/../lib`, its path contains `..`. The directory of debug files has no file
    // for such a path.
    return Self.leadsUp(folder) ? paths : paths + ["\(directory)\(folder)/\(link)"]
  }

  /// Returns the path below a directory at which the image of a build can exist; with the suffix `.debug`, it is the
  /// path of the debug file.
  public static func ofBuild(_ buildID: String, in directory: String) -> String? {
    buildID.utf8.count > 2 ? "\(directory)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2))" : nil
  }

  /// Whether a path has the component `..`.
  ///
  /// If a path with `..` is appended to a directory, the result can be outside of the directory.
  public static func leadsUp(_ path: some StringProtocol) -> Bool {
    path.split(separator: "/").contains { $0 == ".." }
  }

  /// Whether the string is a single path component.
  ///
  /// The check is necessary because the string comes from the untrusted image, and a string with a slash could lead to
  /// any directory.
  public static func isName(_ text: String) -> Bool {
    !text.isEmpty && text != "." && text != ".." && text.utf8.count <= 255
      && text.utf8.allSatisfy { $0 >= 0x20 && $0 != UInt8(ascii: "/") && $0 != 0x7f }
  }
}

public import CrashSettings
import Glibc

/// The configuration of one crashd.
public struct DaemonConfiguration: Sendable {
  /// The directories of the sockets and reports.
  public var directories: Directories
  /// The path of the program `crash-analyse`.
  ///
  /// If the path is nil, crashd searches the directory of its own executable, and then `../libexec/crashd` relative to
  /// this directory.
  public var analysePath: String?
  /// The path of the program `crash-fetch`.
  ///
  /// If the path is nil, crashd searches the same directories as for `crash-analyse`.
  public var fetchPath: String?
  /// The URLs of the debuginfod servers from which crashd requests the debug information of stripped images.
  ///
  /// If the list is empty, crashd does not request debug information.
  public var debuginfodURLs: [String]
  /// The environment variables of crashd, including the variables that systemd sets.
  public var environment: [String: String]
  /// The operator's settings.
  ///
  /// The properties `directories`, `analysePath`, `fetchPath` and `debuginfodURLs` take precedence over these settings.
  public var settings: Settings
  /// Reads the settings again on SIGHUP.
  ///
  /// If this function is nil, crashd does not handle SIGHUP.
  public var readSettings: (@Sendable () throws(SettingsError) -> Settings)?
  /// The limits from the settings.
  public var limits: Limits { settings.limits }
  /// Whether crashd stops gracefully on SIGTERM and SIGINT.
  public var handlesSignals: Bool
  /// Whether crashd automatically protects classes against use-after-free when such crashes of a service become more
  /// frequent.
  ///
  /// The operator's override for a service takes precedence over this value.
  public var allowsAutomaticProtection: Bool
  /// The commit from which this crashd was built; a label in the metrics.
  ///
  /// An empty string means that the commit is unknown.
  public var commit: String

  /// The maximum number of debuginfod servers that `crash-fetch` accepts.
  public static let debuginfodLimit = 8

  /// The maximum number of directories in the setting `symbol-directories`, in which crashd searches for images and
  /// debug files.
  public static let symbolDirectoryLimit = 8

  /// Creates a configuration from its parts.
  public init(
    directories: Directories, analysePath: String? = nil, fetchPath: String? = nil, debuginfodURLs: [String] = [],
    environment: [String: String] = [:],
    settings: Settings = Settings(), handlesSignals: Bool = true, allowsAutomaticProtection: Bool = false,
    commit: String = ""
  ) {
    self.directories = directories
    self.analysePath = analysePath
    self.fetchPath = fetchPath
    self.debuginfodURLs = debuginfodURLs
    self.environment = environment
    self.settings = settings
    self.handlesSignals = handlesSignals
    self.allowsAutomaticProtection = allowsAutomaticProtection
    self.commit = commit
  }

  /// The path of `crash-analyse`; nil if no executable file was found.
  var analyseProgram: String? { Self.program("crash-analyse", given: analysePath) }

  /// The path of `crash-fetch`; nil if no executable file was found.
  var fetchProgram: String? { Self.program("crash-fetch", given: fetchPath) }

  private static func program(_ name: String, given path: String?) -> String? {
    if let path { return unsafe access(path, X_OK) == 0 ? path : nil }
    guard let own = ownDirectory() else { return nil }
    return ["\(own)/\(name)", "\(own)/../libexec/crashd/\(name)"].first { unsafe access($0, X_OK) == 0 }
  }

  private static func ownDirectory() -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    // readlink writes at most `path.count` bytes, which is the size of the array. UInt8 has the size and alignment of
    // CChar.
    let count = unsafe bytes.withUnsafeMutableBytes { buffer in
      unsafe buffer.withMemoryRebound(to: CChar.self) { path in
        guard let start = path.baseAddress else { return 0 }
        return unsafe readlink("/proc/self/exe", start, path.count)
      }
    }
    guard count > 0 else { return nil }
    let path = String(decoding: bytes.prefix(count), as: UTF8.self)
    return path.lastIndex(of: "/").map { String(path[..<$0]) }
  }
}

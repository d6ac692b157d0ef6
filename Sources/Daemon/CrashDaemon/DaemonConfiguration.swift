public import CrashSettings
import Glibc

/// How one crashd runs.
public struct DaemonConfiguration: Sendable {
  /// Where its sockets and reports are.
  public var directories: Directories
  /// The path of `crash-analyse`; nil: beside crashd's own executable, or in `../libexec/crashd`.
  public var analysePath: String?
  /// The path of `crash-fetch`; nil: where `crash-analyse` would be looked for.
  public var fetchPath: String?
  /// debuginfod's servers, which are asked for the debug information of stripped images; none: nobody is asked.
  public var debuginfodURLs: [String]
  /// The environment, for systemd's variables.
  public var environment: [String: String]
  /// What an operator can set; its directories and paths are those above.
  public var settings: Settings
  /// Reads the settings again when SIGHUP comes; nil: SIGHUP is not listened to.
  public var readSettings: (@Sendable () throws(SettingsError) -> Settings)?
  /// What it allows.
  public var limits: Limits { settings.limits }
  /// Whether SIGTERM and SIGINT stop it gracefully.
  public var handlesSignals: Bool
  /// Whether classes are protected by itself when dangling crashes become more frequent, in services whose operator has
  /// said nothing about it.
  public var allowsAutomaticProtection: Bool

  /// As many servers as `crash-fetch` takes.
  public static let debuginfodLimit = 8

  /// Makes a configuration.
  public init(
    directories: Directories, analysePath: String? = nil, fetchPath: String? = nil, debuginfodURLs: [String] = [],
    environment: [String: String] = [:],
    settings: Settings = Settings(), handlesSignals: Bool = true, allowsAutomaticProtection: Bool = false
  ) {
    self.directories = directories
    self.analysePath = analysePath
    self.fetchPath = fetchPath
    self.debuginfodURLs = debuginfodURLs
    self.environment = environment
    self.settings = settings
    self.handlesSignals = handlesSignals
    self.allowsAutomaticProtection = allowsAutomaticProtection
  }

  /// The analysis program that can be run; nil when there is none.
  var analyseProgram: String? { Self.program("crash-analyse", given: analysePath) }

  /// The program that asks servers and can be run; nil when there is none.
  var fetchProgram: String? { Self.program("crash-fetch", given: fetchPath) }

  private static func program(_ name: String, given path: String?) -> String? {
    if let path { return unsafe access(path, X_OK) == 0 ? path : nil }
    guard let own = ownDirectory() else { return nil }
    return ["\(own)/\(name)", "\(own)/../libexec/crashd/\(name)"].first { unsafe access($0, X_OK) == 0 }
  }

  private static func ownDirectory() -> String? {
    var bytes = [UInt8](repeating: 0, count: Int(PATH_MAX))
    // readlink writes at most as many bytes as the array has, and they are as good as CChar.
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

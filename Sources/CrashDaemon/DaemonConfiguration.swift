import Glibc

/// How one crashd runs.
public struct DaemonConfiguration: Sendable {
  /// Where its sockets and reports are.
  public var directories: Directories
  /// The path of `crash-analyse`; nil: beside crashd's own executable, or in `../libexec/crashd`.
  public var analysePath: String?
  /// The environment, for systemd's variables.
  public var environment: [String: String]
  /// What it allows.
  public var limits: Limits
  /// Whether SIGTERM and SIGINT stop it gracefully.
  public var handlesSignals: Bool

  /// Makes a configuration.
  public init(
    directories: Directories, analysePath: String? = nil, environment: [String: String] = [:],
    limits: Limits = Limits(), handlesSignals: Bool = true
  ) {
    self.directories = directories
    self.analysePath = analysePath
    self.environment = environment
    self.limits = limits
    self.handlesSignals = handlesSignals
  }

  /// The analysis program that can be run; nil when there is none.
  var analyseProgram: String? {
    if let analysePath { return unsafe access(analysePath, X_OK) == 0 ? analysePath : nil }
    guard let own = Self.ownDirectory() else { return nil }
    let candidates = ["\(own)/crash-analyse", "\(own)/../libexec/crashd/crash-analyse"]
    return candidates.first { unsafe access($0, X_OK) == 0 }
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

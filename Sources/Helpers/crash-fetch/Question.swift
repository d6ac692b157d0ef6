/// The request on the command line.
struct Question {
  var buildID: String
  var limitBytes: UInt64
  var timeout_ms: UInt32
  var urls: [String]

  private static let serverLimit = 8

  /// Nil for an invalid command line.
  init?(_ arguments: [String]) {
    guard arguments.count > 6, arguments[0] == "--build-id", arguments[2] == "--limit-bytes",
      arguments[4] == "--timeout-ms", Self.isBuildID(arguments[1]), let limit = UInt64(arguments[3]), limit > 0,
      limit <= UInt64(Int64.max), let timeout = UInt32(arguments[5]), timeout > 0
    else { return nil }
    let urls = arguments.dropFirst(6)
    guard urls.count <= Self.serverLimit, urls.allSatisfy({ !$0.hasPrefix("-") }) else { return nil }
    (buildID, limitBytes, timeout_ms, self.urls) = (arguments[1], limit, timeout, Array(urls))
  }

  /// The path after a server's URL.
  var path: String { "buildid/\(buildID)/debuginfo" }

  /// Whether it consists of lower-case hexadecimal digits only: it becomes a part of a URL.
  private static func isBuildID(_ text: String) -> Bool {
    (2...128).contains(text.utf8.count)
      && text.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}

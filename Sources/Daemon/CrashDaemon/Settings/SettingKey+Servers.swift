extension SettingKey {
  /// debuginfod's servers: a list in a file; in a text they stand between blanks, as URLs have commas.
  static let servers = SettingKey(
    name: "debuginfod-urls",
    takes: "at most \(DaemonConfiguration.debuginfodLimit) URLs that begin with http:// or https://", isLive: false,
    apply: { settings, value in
      let urls: [String] =
        switch value {
        case .list(let texts): texts
        case .text(let text): text.split(separator: " ").map(String.init)
        }
      guard urls.count <= DaemonConfiguration.debuginfodLimit, urls.allSatisfy(isServer) else { return false }
      settings.debuginfodURLs = urls
      return true
    }, show: { "[\($0.debuginfodURLs.map(SettingText.quoted).joined(separator: ", "))]" })

  // crash-fetch takes them as words of its command line.
  private static func isServer(_ url: String) -> Bool {
    (url.hasPrefix("http://") || url.hasPrefix("https://")) && !url.contains { $0.isWhitespace || $0 == "\0" }
  }
}

internal import CrashReport

/// The static files that pages use: styles, the script and the icon.
enum Assets {
  private static let files: [String: (type: String, body: [UInt8])] = [
    "/assets/style.css": ("text/css; charset=utf-8", PackageResources.style_css),
    "/assets/report.css": ("text/css; charset=utf-8", Array(HTMLRenderer.fragmentStyle.utf8)),
    "/assets/live.js": ("text/javascript; charset=utf-8", PackageResources.live_js),
    "/assets/icon.svg": ("image/svg+xml", PackageResources.icon_svg),
  ]

  static let paths = files.keys.sorted()

  static func answer(_ path: String) -> PageAnswer? {
    files[path].map { PageAnswer(contentType: $0.type, body: $0.body, isStatic: true) }
  }
}

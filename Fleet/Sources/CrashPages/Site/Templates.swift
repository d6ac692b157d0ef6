internal import Mustache

/// The templates of all pages.
struct Templates: Sendable {
  private let library: MustacheLibrary

  /// All templates, by name.
  static let sources: [String: [UInt8]] = [
    "layout": PackageResources.layout_mustache, "bars": PackageResources.bars_mustache,
    "moment": PackageResources.moment_mustache, "spark": PackageResources.spark_mustache,
    "shares": PackageResources.shares_mustache, "pager": PackageResources.pager_mustache,
    "eventrows": PackageResources.eventrows_mustache, "issues": PackageResources.issues_mustache,
    "issue": PackageResources.issue_mustache, "events": PackageResources.events_mustache,
    "event": PackageResources.event_mustache, "timeline": PackageResources.timeline_mustache,
    "incidents": PackageResources.incidents_mustache, "use-after-free": PackageResources.use_after_free_mustache,
    "processes": PackageResources.processes_mustache, "builds": PackageResources.builds_mustache,
    "health": PackageResources.health_mustache, "alarm": PackageResources.alarm_mustache,
    "error": PackageResources.error_mustache,
  ]

  /// Parses the templates.
  ///
  /// Each template begins with the content type, because swift-mustache resets it in each partial.
  /// - Throws: swift-mustache throws an error if a template is malformed. A test checks that none is.
  init() throws {
    MustacheContentTypes.register(CrashText(), named: CrashText.name)
    var library = MustacheLibrary()
    for (name, bytes) in Self.sources {
      try library.register("{{% CONTENT_TYPE:\(CrashText.name)}}" + String(decoding: bytes, as: UTF8.self), named: name)
    }
    self.library = library
  }

  /// Returns a page as HTML.
  func html<View: PageView>(_ shown: Shown<View>) -> String {
    library.render(Reflected(shown), withTemplate: View.template) ?? ""
  }
}

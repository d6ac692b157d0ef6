/// The contents of one page.
///
/// The template and the page's JSON show the same values.
protocol PageView: Encodable, Sendable {
  /// The name of the template.
  static var template: String { get }
  /// The title of the page.
  var title: String { get }
  /// Whether a script refreshes the page.
  static var isLive: Bool { get }
}

extension PageView {
  static var isLive: Bool { true }
}

/// A link that filters or sorts a list.
struct Choice: Encodable, Sendable, Equatable {
  var name: String
  var path: String
  var isCurrent = false
  var count: Figure?

  private enum CodingKeys: CodingKey { case name, count }
}

extension Choice {
  /// Creates a link; nil without a path.
  init?(name: String, path: String?, isCurrent: Bool = false) {
    guard let path else { return nil }
    (self.name, self.path, self.isCurrent) = (name, path, isCurrent)
  }
}

/// The parts of a page around its contents, such as the navigation and the search box.
struct Frame: Sendable {
  var title: String
  /// The name of the machine or of the fleet.
  var scope: String
  var views: [Choice]
  /// The text of the search box.
  var query: String
  /// The path to which the search box sends the query.
  var searchPath: String
  /// The path of the page as JSON; nil if the page has none.
  var twin: String?
  var isLive: Bool
  /// Whether a live page learns of changes from the server.
  var hasChanges = false
  /// Whether the page is saved as a file.
  ///
  /// It then has no search box and no script.
  var isStatic = false
  var time: Moment?
}

/// The values that a template inserts.
struct Shown<View: PageView>: Sendable {
  var frame: Frame
  var view: View
}

/// A page that explains why the requested page cannot be shown.
struct ErrorView: PageView {
  static let template = "error"
  static let isLive = false
  var title: String
  var status: Int
  var text: String
  /// What the user can do.
  var advice: String?
}

/// The contents of one page: the values that the template shows, and that the page's JSON twin contains.
protocol PageView: Encodable, Sendable {
  /// The name of the template.
  static var template: String { get }
  /// The title of the page.
  var title: String { get }
  /// Whether a script may refresh the page.
  static var isLive: Bool { get }
}

extension PageView {
  static var isLive: Bool { true }
}

/// A link that narrows or orders a list.
struct Choice: Encodable, Sendable, Equatable {
  var name: String
  var path: String
  var isCurrent = false
  var count: Figure?

  private enum CodingKeys: CodingKey { case name, count }
}

/// The parts of a page around its contents.
struct Frame: Sendable {
  var title: String
  /// The name of the machine or of the fleet.
  var scope: String
  var views: [Choice]
  /// The text of the search box.
  var query: String
  /// The page that the search box opens.
  var searchPath: String
  /// The path of the JSON twin; nil if the page has none.
  var twin: String?
  var isLive: Bool
  /// Whether the page is a file, which has no search and no script.
  var isStatic = false
  var time: Moment?
}

/// What a template shows.
struct Shown<View: PageView>: Sendable {
  var frame: Frame
  var view: View
}

/// A page that says why there is no other page.
struct ErrorView: PageView {
  static let template = "error"
  static let isLive = false
  var title: String
  var status: Int
  var text: String
  /// What the reader can do.
  var advice: String?
}

internal import CrashProtocol
internal import CrashReport
internal import Foundation

/// The pages that show the data of one source.
///
/// For a path, it returns a page as HTML or JSON, or a static file.
public struct Site: Sendable {
  /// The maximum size of a page.
  public static let pageBytes = 100_000

  let source: any PageSource
  let now: @Sendable () -> UInt64
  private let templates: Templates

  /// Creates the pages of a source.
  public init(source: any PageSource) throws { try self.init(source: source, now: WallClock.now_ns) }

  init(source: any PageSource, now: @escaping @Sendable () -> UInt64) throws {
    (self.source, self.now, templates) = (source, now, try Templates())
  }

  /// Returns the answer to a request.
  public func answer(_ request: PageRequest) async -> PageAnswer { await answer(request, isStatic: false) }

  /// Returns the answer to a request.
  ///
  /// A static page is saved as a file: it has neither a search box nor a script.
  func answer(_ request: PageRequest, isStatic: Bool) async -> PageAnswer {
    if request.path == "/" { return .redirect(to: "/issues") }
    if let asset = Assets.answer(request.path) { return asset }
    let isTwin = request.path.hasSuffix(".json")
    let path = isTwin ? String(request.path.dropLast(5)) : request.path
    let parts = path.split(separator: "/", omittingEmptySubsequences: false).dropFirst().map { PagePath.decode($0) }
    let page = Page(site: self, request: request, isTwin: isTwin, isStatic: isStatic, now_ns: now())
    do throws(SourceError) {
      if parts.count == 3, parts[0] == "events", parts[2] == "report.html", !isTwin {
        return try await report(parts[1])
      }
      return try await page.answer(parts)
    } catch {
      return failure(error, page)
    }
  }

  /// Returns a page that reports an error.
  public func failure(status: Int, title: String, text: String, advice: String? = nil) -> PageAnswer {
    let view = ErrorView(title: title, status: status, text: text, advice: advice)
    let frame = Frame(
      title: title, scope: "crash-shield", views: [], query: "", searchPath: "/issues", twin: nil, isLive: false)
    return PageAnswer(status: status, contentType: PageAnswer.html, body: Array(html(view, frame).utf8))
  }

  private func failure(_ error: SourceError, _ page: Page) -> PageAnswer {
    let (status, title, text, advice) = ErrorText.text(error, advice: source.advice)
    if page.isTwin {
      return json(ErrorView(title: title, status: status, text: text, advice: advice), status: status)
    }
    return failure(status: status, title: title, text: text, advice: advice)
  }

  /// Returns the report as the self-contained file that `crashctl dump --format html` writes.
  private func report(_ id: String) async throws(SourceError) -> PageAnswer {
    let report = try await source.event(id).report
    let name = "crash-" + report.id.filter { $0.isASCII && ($0.isLetter || $0.isNumber) }.prefix(32) + ".html"
    return PageAnswer(
      contentType: PageAnswer.html, body: Array(HTMLRenderer().render(report).utf8), fileName: name)
  }

  func html<View: PageView>(_ view: View, _ frame: Frame) -> String { templates.html(Shown(frame: frame, view: view)) }

  func json(_ view: some Encodable, status: Int = 200) -> PageAnswer {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.prettyPrinted, .sortedKeys, .withoutEscapingSlashes]
    do {
      let text = String(decoding: try encoder.encode(view), as: UTF8.self)
      return PageAnswer(status: status, contentType: PageAnswer.json, body: Array(CleanText.json(text).utf8))
    } catch {
      // Encoding fails only for a number that JSON cannot express.
      return failure(status: 500, title: "Not as JSON", text: "The page has no JSON form: \(error)")
    }
  }
}

/// The texts of errors.
enum ErrorText {
  static func text(_ error: SourceError, advice: String) -> (status: Int, title: String, text: String, advice: String?)
  {
    switch error {
    case .notFound(let what):
      (
        404, "Not found", "There is no \(CrashText.clip(what, to: 80)).",
        "It may have been removed by retention, or belong to another user."
      )
    case .ambiguous(let what): (404, "Not found", "\(CrashText.clip(what, to: 80)) is not complete.", nil)
    case .notAvailable: (404, "Not found", "This service does not have the view.", nil)
    case .invalidSearch(let why):
      (
        400, "Search not understood", "\(CrashText.clip(why, to: 200)).",
        "Terms: program, signal, release, environment, tag, route, state, since, until. Example: program:shop state:new since:24h"
      )
    case .unavailable(let why):
      (503, "No answer", "\(CrashText.clip(why, to: 300)).", advice)
    }
  }
}

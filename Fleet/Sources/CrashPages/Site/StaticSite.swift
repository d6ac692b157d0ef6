/// Saves pages as files, for an archive or a static web server.
///
/// The files need neither a script nor a service. A link to a page that has no file, such as a search, leads nowhere.
public struct StaticSite: Sendable {
  /// The maximum number of pages, newest first.
  ///
  /// This limits the number of files for a large store.
  public static let pageLimit = 500

  private let site: Site

  /// Creates the files of a site.
  public init(site: Site) { self.site = site }

  /// A file to write into the directory.
  public struct File: Sendable {
    /// The name in the directory.
    public var name: String
    /// The contents.
    public var body: [UInt8]
  }

  /// Returns the files.
  /// - Throws: The error of the first page. A page that fails later is skipped, for example because retention removed
  ///   its report.
  public func files() async throws(SourceError) -> [File] {
    let scope = try await site.source.scope()
    var targets =
      ["/issues", "/events"] + Section.all.filter { scope.sections.contains($0.section) }.map { "/" + $0.path }
    var (names, pages): ([String: String], [(name: String, html: String)]) = ([:], [])
    var next = 0
    while next < targets.count, pages.count < Self.pageLimit {
      let target = targets[next]
      next += 1
      guard names[target] == nil else { continue }
      let answer = await site.answer(PageRequest(target: target), isStatic: true)
      guard answer.status == 200 else { continue }
      let html = String(decoding: answer.body, as: UTF8.self)
      names[target] = Self.name(of: target, number: pages.count)
      pages.append((Self.name(of: target, number: pages.count), html))
      targets += Links(html).targets.filter { names[$0] == nil && Self.isKept($0) }
    }
    let assets = Assets.paths.compactMap { path in
      Assets.answer(path).map { File(name: Self.asset(path), body: $0.body) }
    }
    for path in Assets.paths { names[path] = Self.asset(path) }
    let index =
      pages.first.map { [File(name: "index.html", body: Array(Links($0.html).replaced(by: names).utf8))] } ?? []
    return index + pages.map { File(name: $0.name, body: Array(Links($0.html).replaced(by: names).utf8)) } + assets
  }

  /// Whether a page is saved as a file.
  ///
  /// A search, a sorted list and a download are not saved.
  private static func isKept(_ target: String) -> Bool {
    let request = PageRequest(target: target)
    let isPage = request.path.hasPrefix("/issues") || request.path.hasPrefix("/events")
    return isPage && request.query["q"] == nil && request.query["sort"] == nil && !request.path.hasSuffix(".html")
      && !request.path.hasSuffix(".json")
  }

  /// Returns a name of letters, digits and dashes.
  private static func name(of target: String, number: Int) -> String {
    let request = PageRequest(target: target)
    let path = request.path.dropFirst().map { $0.isASCII && ($0.isLetter || $0.isNumber) ? $0 : "-" }
    return String(path.prefix(80)) + (request.query.isEmpty ? "" : "-\(number)") + ".html"
  }

  private static func asset(_ path: String) -> String { String(path.split(separator: "/").last ?? "") }
}

/// The links of a page.
///
/// In a page, quotation marks occur only around the values of attributes, because the templates escape all strings.
private struct Links {
  private let pieces: [String]

  init(_ html: String) { pieces = html.split(separator: "\"", omittingEmptySubsequences: false).map(String.init) }

  private func isLink(_ index: Int) -> Bool {
    index > 0 && index % 2 == 1 && (pieces[index - 1].hasSuffix(" href=") || pieces[index - 1].hasSuffix(" src="))
  }

  /// The paths that the page links to.
  var targets: [String] {
    pieces.indices.filter { isLink($0) && pieces[$0].hasPrefix("/") }.map { pieces[$0].replacing("&amp;", with: "&") }
  }

  /// Returns the page with links to saved files: `names` has the name of the file by the path of its page.
  ///
  /// A link to a page that is not saved becomes `#main`, a link to this page.
  func replaced(by names: [String: String]) -> String {
    pieces.indices.map { index in
      guard isLink(index), pieces[index].hasPrefix("/") else { return pieces[index] }
      return names[pieces[index].replacing("&amp;", with: "&")] ?? "#main"
    }.joined(separator: "\"")
  }
}

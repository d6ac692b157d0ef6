internal import CrashReport
internal import Foundation

/// Renders a very large report, which a hostile program can cause: truncates every long string and list.
struct ReportCutter {
  private let report: CrashReport

  init(_ report: CrashReport) { self.report = report }

  /// Returns HTML of at most `limitBytes` bytes; nil if even the shortest form is longer.
  func html(limitBytes: Int) -> String? {
    var small = withoutLists
    for (length, count) in [(300, 60), (120, 40), (60, 16)] {
      guard let cut = Self.cut(small, to: length, count: count) else { return nil }
      small = cut
      let html = HTMLRenderer().fragment(small)
      if html.utf8.count <= limitBytes { return html }
    }
    return nil
  }

  /// The report without the lists that matter least.
  private var withoutLists: CrashReport {
    var small = report
    (small.images, small.breadcrumbs, small.incidents, small.inFlight) = ([], [], nil, nil)
    small.earlierRuntimeWarnings = nil
    let annotations = report.annotations.sorted { $0.key < $1.key }.prefix(8)
    small.annotations = annotations.reduce(into: [:]) { $0[$1.key] = $1.value }
    small.threads = report.threads.filter(\.crashed).prefix(2).map { thread in
      var short = thread
      short.frames = thread.frames.prefix(60).map { frame in
        var small = frame
        (small.mangled, small.signature) = ("", nil)
        return small
      }
      return short
    }
    return small
  }

  /// Truncates all strings and lists of a report; nil if it has no form as JSON.
  ///
  /// The JSON has every string, also of properties that a later version adds. Addresses, times and the names of
  /// properties are never truncated, because they are shorter than 60 characters, the smallest `length`.
  private static func cut(_ report: CrashReport, to length: Int, count: Int) -> CrashReport? {
    do {
      let json = try JSONSerialization.jsonObject(with: Data(ReportCoding.encode(report).utf8))
      return try ReportCoding.decode(JSONSerialization.data(withJSONObject: cut(json, to: length, count: count)))
    } catch {
      // JSON cannot express a confidence that is not finite.
      return nil
    }
  }

  private static func cut(_ value: Any, to length: Int, count: Int) -> Any {
    switch value {
    case let text as String: CrashText.clip(text, to: length)
    case let list as [Any]: list.prefix(count).map { cut($0, to: length, count: count) }
    case let object as [String: Any]:
      Dictionary(
        object.map { (CrashText.clip($0.key, to: length), cut($0.value, to: length, count: count)) },
        uniquingKeysWith: { first, _ in first })
    default: value
    }
  }
}

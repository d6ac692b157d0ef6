public import CrashReport
import GRDB

// Lists and look-ups that show reports that are not stored yet among those that are.
extension ReportStore {
  /// Summaries as `page` returns them, with reports that are not stored yet in their place: behind all events.
  ///
  /// Their cursors continue a list and begin no stream of events. Of those that were read before this call and stored
  /// since, the page has the stored ones; then it may be shorter than `limit`.
  /// - Throws: As `page`.
  public func page(
    with preliminary: [CrashReport], _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all,
    before: StoreCursor? = nil, after: StoreCursor? = nil, isOldestFirst: Bool = false, limit: Int,
    counts: Bool = false
  ) throws(StoreError) -> ReportPage {
    let epoch = try current.1
    for cursor in [before, after] {
      if let cursor, cursor.isUnstored, cursor.epoch != epoch { throw .invalidCursor(cursor.description) }
    }
    // Behind a stored one, or before one, the comparison lets in none, or all.
    let shown = try unstored(preliminary.filter { filter.includes($0, visibility: visibility) })
      .map { ReportSummary(unstored: $0, in: epoch) }.sorted { $0.cursor < $1.cursor }
      .filter { summary in before.map { summary.cursor < $0 } ?? true && after.map { summary.cursor > $0 } ?? true }
    let first = isOldestFirst ? [] : shown.suffix(limit).reversed()
    var page = ReportPage(reports: [], more: counts ? 0 : nil)
    if after?.isUnstored != true {
      page = try self.page(
        filter, visibility: visibility, before: before?.isUnstored == true ? nil : before, after: after,
        isOldestFirst: isOldestFirst, limit: limit - first.count, counts: counts)
    }
    let stored = Set(page.reports.map(\.id))
    if !isOldestFirst {
      page.reports = first.filter { !stored.contains($0.id) } + page.reports
      page.more = page.more.map { $0 + shown.count - first.count }
      return page
    }
    let last = shown.filter { !stored.contains($0.id) }
    let room = page.more ?? 0 > 0 ? 0 : limit - page.reports.count
    page.reports += last.prefix(room)
    page.more = page.more.map { $0 + max(0, last.count - room) }
    return page
  }

  /// The report whose id begins with `prefix`, also one that is not stored yet; the newest one for nil.
  /// - Throws: As `report`.
  public func report(
    with preliminary: [CrashReport], idPrefix prefix: String?, visibility: Visibility = .all
  ) throws(StoreError) -> CrashReport {
    let digits = (prefix ?? "").lowercased()
    let possible = preliminary.filter {
      $0.id.hasPrefix(digits) && ReportFilter().includes($0, visibility: visibility)
    }
    var missing: StoreError?
    var stored: CrashReport?
    do throws(StoreError) {
      stored = try report(idPrefix: prefix, visibility: visibility).report
    } catch {
      guard case .noSuchReport = error, !possible.isEmpty else { throw error }
      missing = error
    }
    // Asked after the look-up: what was stored between the two is found by the next one.
    let others = try unstored(possible)
    if others.isEmpty {
      if let stored { return stored }
      return try report(idPrefix: prefix, visibility: visibility).report
    }
    let count = others.count + (stored == nil ? 0 : 1)
    guard digits.isEmpty || count == 1 else { throw .ambiguous(id: digits, count: count) }
    // As of those that are stored: one from the future is the last one only where there is no other.
    let candidates = others + (stored.map { [$0] } ?? [])
    let past = candidates.filter { $0.time <= Self.now }
    guard let newest = (past.isEmpty ? candidates : past).max(by: { $0.time < $1.time }) else {
      throw missing ?? .noSuchReport(id: digits)
    }
    return newest
  }

  private func unstored(_ reports: [CrashReport]) throws(StoreError) -> [CrashReport] {
    if reports.isEmpty { return [] }
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        try reports.filter { report in
          try Row.fetchOne(database, sql: "SELECT 1 FROM reports WHERE id = ?", arguments: [report.id]) == nil
        }
      }
    }
  }
}

extension StoreCursor {
  /// Behind all events, also those that are still to come, stand the reports that are not stored yet.
  private static let firstUnstored = Int64(1) << 62

  var isUnstored: Bool { sequence >= Self.firstUnstored }

  /// Where a report stands that is not stored yet: by the 18 digits of its time below the century.
  fileprivate static func unstored(_ report: CrashReport, in epoch: String) -> StoreCursor {
    let digits = report.time.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.dropFirst(2).prefix(
      18)
    let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    return StoreCursor(epoch: epoch, sequence: firstUnstored + number)
  }
}

extension ReportSummary {
  /// What a list shows of a report that is not stored yet.
  fileprivate init(unstored report: CrashReport, in epoch: String) {
    let frame = report.namingFrame
    self.init(
      cursor: .unstored(report, in: epoch), id: report.id, time: report.time, pid: report.process.pid,
      uid: report.process.uid,
      name: report.process.name, executable: report.process.executable, unit: report.process.unit,
      signal: report.signal.name, reason: report.reason, sentence: report.diagnosis.sentence,
      function: frame?.function ?? "", file: frame?.file, line: frame?.line, groupKey: report.group.key,
      groupTitle: report.group.title, isPreliminary: report.isPreliminary == true)
  }
}

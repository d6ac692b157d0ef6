public import CrashProtocol
public import CrashReport
import GRDB

// Combines stored reports with reports that are not stored yet.
extension ReportStore {
  /// Returns summaries as `page` does, with the reports that are not stored yet after all stored events.
  ///
  /// A list with the oldest first contains no unstored reports, because it follows the order in which reports were
  /// stored. The cursor of an unstored report can be passed as `before`, but cannot begin a stream of events. If a
  /// report of `preliminary` was stored in the meantime, the page has the stored report instead. The page may then be
  /// shorter than `limit`.
  /// - Throws: The errors of `page`. `StoreError.invalidCursor` is also thrown if `after` is the cursor of an unstored
  ///   report.
  public func page(
    with preliminary: [CrashReport], _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all,
    before: StoreCursor? = nil, after: StoreCursor? = nil, isOldestFirst: Bool = false, limit: Int,
    counts: Bool = false
  ) throws(StoreError) -> ReportPage {
    let epoch = try current.1
    if let after, after.isUnstored { throw .invalidCursor(after.description) }
    if let before, before.isUnstored, before.epoch != epoch { throw .invalidCursor(before.description) }
    let possible = isOldestFirst ? [] : preliminary.filter { filter.includes($0, visibility: visibility) }
    // Unstored reports have higher numbers than every stored report.
    let shown = try unstored(possible).map { (cursor: StoreCursor.unstored($0, in: epoch), report: $0) }
      .filter { entry in before.map { entry.cursor < $0 } ?? true }
      .sorted { ($0.cursor, $0.report.id) > ($1.cursor, $1.report.id) }
    let first = shown.prefix(limit).map { ReportSummary($0.report, cursor: $0.cursor.description) }
    var page = try page(
      filter, visibility: visibility, before: before?.isUnstored == true ? nil : before, after: after,
      isOldestFirst: isOldestFirst, limit: limit - first.count, counts: counts)
    let stored = Set(page.reports.map(\.id))
    page.reports = first.filter { !stored.contains($0.id) } + page.reports
    page.more = page.more.map { $0 + shown.count - first.count }
    return page
  }

  /// Returns the report whose id begins with `prefix`, including unstored reports.
  ///
  /// If `prefix` is nil, returns the newest report.
  /// - Throws: The errors of `report`.
  public func report(
    with preliminary: [CrashReport], idPrefix prefix: String?, visibility: Visibility = .all
  ) throws(StoreError) -> StoredReport {
    let digits = (prefix ?? "").lowercased()
    let possible = preliminary.filter {
      $0.id.hasPrefix(digits) && ReportFilter().includes($0, visibility: visibility)
    }
    var missing: StoreError?
    var stored: StoredReport?
    do throws(StoreError) {
      stored = try report(idPrefix: prefix, visibility: visibility)
    } catch {
      guard case .noSuchReport = error, !possible.isEmpty else { throw error }
      missing = error
    }
    // Unstored reports are examined after the first lookup. If a report was stored in between, the second lookup finds
    // it.
    let others = try unstored(possible)
    if others.count < possible.count {
      do throws(StoreError) {
        stored = try report(idPrefix: prefix, visibility: visibility)
      } catch {
        guard case .noSuchReport = error else { throw error }
      }
    }
    if others.isEmpty {
      if let stored { return stored }
      throw missing ?? .noSuchReport(id: digits)
    }
    let count = others.count + (stored == nil ? 0 : 1)
    guard digits.isEmpty || count == 1 else { throw .ambiguous(id: digits, count: count) }
    // A report whose time is in the future is returned only if there is no other report. The same rule applies to
    // stored reports.
    let epoch = try current.1
    let candidates = try Self.translating(path) {
      try others.map { try StoredReport(unstored: $0, epoch: epoch) } + (stored.map { [$0] } ?? [])
    }
    let past = candidates.filter { $0.time <= Self.now }
    guard let newest = (past.isEmpty ? candidates : past).max(by: { $0.time < $1.time }) else {
      throw missing ?? .noSuchReport(id: digits)
    }
    return newest
  }

  /// Returns those reports that the store does not have and never had.
  ///
  /// A report that was removed must not reappear.
  public func unstored(_ reports: [CrashReport]) throws(StoreError) -> [CrashReport] {
    if reports.isEmpty { return [] }
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        try reports.filter { report in
          let row = try Row.fetchOne(database, sql: "SELECT 1 FROM reports WHERE id = ?", arguments: [report.id])
          return try row == nil && !Self.isRemoved(report.id, report.process.uid, in: database)
        }
      }
    }
  }
}

extension StoreCursor {
  /// The numbers of unstored reports are above the numbers of all events, including later ones.
  private static let firstUnstored = Int64(1) << 62

  package var isUnstored: Bool { sequence >= Self.firstUnstored }

  /// Returns the cursor of an unstored report.
  ///
  /// Its number consists of the 18 digits of the report's time without the century.
  static func unstored(_ report: CrashReport, in epoch: StoreEpoch) -> StoreCursor {
    let digits = report.time.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.dropFirst(2).prefix(
      18)
    let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    return StoreCursor(epoch: epoch, sequence: firstUnstored + number)
  }
}

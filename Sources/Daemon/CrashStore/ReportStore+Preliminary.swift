public import CrashProtocol
public import CrashReport
import GRDB

// Combines stored reports with preliminary reports, which are not stored yet.
extension ReportStore {
  /// Returns the same summaries as `page`, and before them the summaries of the reports that are not stored yet, as the
  /// newest events.
  ///
  /// A list that begins with the oldest report contains no unstored reports, because such a list has the order in which
  /// reports were stored. The cursor of an unstored report can be passed as `before`, but a stream of events cannot
  /// begin at this cursor. If a report in `preliminary` has been stored in the meantime, the page contains the stored
  /// report instead, and can have fewer than `limit` reports.
  /// - Throws: The errors of `page`. The method also throws `StoreError.invalidCursor` if `after` is the cursor of an
  ///   unstored report.
  public func page(
    with preliminary: [CrashReport], _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all,
    before: StoreCursor? = nil, after: StoreCursor? = nil, isOldestFirst: Bool = false, limit: Int,
    counts: Bool = false
  ) throws(StoreError) -> ReportPage {
    let epoch = try current.1
    if let after, after.isUnstored { throw .invalidCursor(after.description) }
    if let before, before.isUnstored, before.epoch != epoch { throw .invalidCursor(before.description) }
    let possible = isOldestFirst ? [] : preliminary.filter { filter.includes($0, visibility: visibility) }
    // Put unstored reports first, because their cursors have higher numbers than those of all stored reports.
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

  /// Returns the report whose ID begins with `prefix`, which can be stored or unstored.
  ///
  /// If `prefix` is nil, the result is the newest report.
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
    // Check the unstored reports after the first look-up. If an unstored report was stored in the meantime, the second
    // look-up finds it in the store.
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
    // As for stored reports, return a report whose time is in the future only if no report has a possible time.
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

  /// Returns the given reports that the store does not contain and has never contained.
  ///
  /// A report that the store once contained is excluded, because a removed report must not appear again.
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
  /// The first event number for unstored reports, which is higher than any event number that the store will assign.
  private static let firstUnstored = Int64(1) << 62

  package var isUnstored: Bool { sequence >= Self.firstUnstored }

  /// Returns the cursor of an unstored report.
  ///
  /// The event number in the cursor is `firstUnstored` plus a number of 18 digits: those of the report's time, without
  /// the century.
  static func unstored(_ report: CrashReport, in epoch: StoreEpoch) -> StoreCursor {
    let digits = report.time.utf8.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }.dropFirst(2).prefix(
      18)
    let number = digits.reduce(Int64(0)) { $0 * 10 + Int64($1 - UInt8(ascii: "0")) }
    return StoreCursor(epoch: epoch, sequence: firstUnstored + number)
  }
}

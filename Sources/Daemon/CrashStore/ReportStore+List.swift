public import CrashProtocol
import GRDB

extension ReportStore {
  /// Returns summaries of reports, newest first.
  /// - Throws: The errors of `page`.
  public func list(
    _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, before: StoreCursor? = nil, limit: Int
  ) throws(StoreError) -> [ReportSummary] {
    try page(filter, visibility: visibility, before: before, limit: limit).reports
  }

  /// Returns summaries of reports, newest first or oldest first.
  /// - Parameters:
  ///   - filter: The conditions that the reports must satisfy.
  ///   - visibility: The users whose reports the caller is allowed to read.
  ///   - before: Return only reports that were stored before this cursor, usually that of the last report on the
  ///   previous page.
  ///   - after: Return only reports that were stored after this cursor; for lists that begin with the oldest report.
  ///   - isOldestFirst: Whether the list begins with the oldest report.
  ///   - limit: The maximum number of reports.
  ///   - counts: Whether the method counts the reports after the page.
  /// - Returns: The page.
  /// - Throws: `StoreError.invalidCursor`, `unavailable`.
  public func page(
    _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, before: StoreCursor? = nil,
    after: StoreCursor? = nil, isOldestFirst: Bool = false, limit: Int, counts: Bool = false
  ) throws(StoreError) -> ReportPage {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      try pool.read { database in
        var wanted = ReportConditions(filter, visibility)
        for cursor in [before, after] { if let cursor { try Self.check(cursor, epoch: epoch, in: database) } }
        if let before { wanted.add(before: before.sequence) }
        if let after { wanted.add(after: after.sequence) }
        let rows = try TypedRow<ReportSummary>.fetchAll(
          database,
          sql: """
            SELECT \(ReportRow.summary) FROM reports WHERE seq IN (\(wanted.page(isOldestFirst: isOldestFirst)))
            ORDER BY seq \(isOldestFirst ? "ASC" : "DESC")
            """, arguments: wanted.arguments(["limit": limit]))
        let last = rows.last.flatMap { Int64($0.fields.cursor) }
        let reports = rows.map { row in
          var summary = row.fields
          summary.cursor = Int64(summary.cursor).map { StoreCursor(epoch: epoch, sequence: $0).description } ?? ""
          summary.uid = OwnerKey.uid(Int64(summary.uid))
          return summary
        }
        guard counts else { return ReportPage(reports: reports, more: nil) }
        if filter == ReportFilter(), before == nil, after == nil {
          return ReportPage(reports: reports, more: max(0, try Self.count(visibility, in: database) - reports.count))
        }
        if let last {
          if isOldestFirst { wanted.add(after: last) } else { wanted.add(before: last) }
        }
        // If the page is empty, count all reports within the caller's bounds. Either there are none, or the caller
        // requested a page of zero reports.
        let count = try Int.fetchOne(database, sql: wanted.count, arguments: wanted.arguments())
        return ReportPage(reports: reports, more: count ?? 0)
      }
    }
  }

  /// Returns the summary of a program's newest report; nil if the program has no report.
  ///
  /// Imported reports are skipped, because their crashes could have happened on another machine.
  ///
  /// The program is identified by user, executable and name. Complexity: the method reads one row for each report of
  /// the program.
  /// - Throws: `StoreError.unavailable`.
  public func newest(uid: UInt32, executable: String, name: String) throws(StoreError) -> ReportSummary? {
    let (pool, _) = try current
    return try Self.translating(path) {
      try pool.read { database in
        try TypedRow<ReportSummary>.fetchOne(
          database,
          sql: """
            SELECT \(ReportRow.summary) FROM reports WHERE id IN (
              SELECT id FROM group_reports INDEXED BY group_reports_executable
              WHERE executable = :executable AND uid = :uid AND name = :name)
              AND json_extract(json, '$.source') IS NULL
            ORDER BY seq DESC LIMIT 1
            """, arguments: ["executable": executable, "uid": Int64(uid), "name": name])?.fields
      }
    }
  }
}

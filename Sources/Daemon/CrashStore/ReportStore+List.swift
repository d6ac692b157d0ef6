public import CrashProtocol
import GRDB

extension ReportStore {
  /// Summaries, newest first.
  /// - Throws: As `page`.
  public func list(
    _ filter: ReportFilter = ReportFilter(), visibility: Visibility = .all, before: StoreCursor? = nil, limit: Int
  ) throws(StoreError) -> [ReportSummary] {
    try page(filter, visibility: visibility, before: before, limit: limit).reports
  }

  /// Summaries, newest first or oldest first.
  /// - Parameters:
  ///   - filter: Which.
  ///   - visibility: Whose.
  ///   - before: Only older ones than this cursor: that of the last one of the previous page.
  ///   - after: Only newer ones: the same where the oldest come first.
  ///   - isOldestFirst: Whether they do.
  ///   - limit: How many at most.
  ///   - counts: Whether to count how many more there are.
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
        // As many as there may be were not looked for, or are all there.
        let count = try Int.fetchOne(database, sql: wanted.count, arguments: wanted.arguments())
        return ReportPage(reports: reports, more: count ?? 0)
      }
    }
  }

  /// The newest report of a user's program, by its executable and name; nil: there is none.
  ///
  /// Complexity: As many rows as the program has reports.
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
            ORDER BY seq DESC LIMIT 1
            """, arguments: ["executable": executable, "uid": Int64(uid), "name": name])?.fields
      }
    }
  }
}

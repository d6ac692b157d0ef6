public import CrashProtocol
import GRDB

extension ReportStore {
  /// Returns the numbers of crashes by hour in UTC, the latest hour first.
  ///
  /// The numbers include removed reports, like the numbers that the method `groups` returns.
  /// - Parameters:
  ///   - keys: The keys of the groups whose crashes are counted separately; nil to count the crashes of all groups
  ///     together.
  ///   - filter: The conditions that the reports must satisfy.
  ///   - visibility: The users whose reports the caller is allowed to read.
  /// - Returns: The numbers; at most `HourCount.limit` of them.
  /// - Throws: `StoreError.unavailable`.
  public func hours(
    of keys: [String]?, _ filter: ReportFilter, visibility: Visibility = .all
  ) throws(StoreError) -> [HourCount] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        guard let keys else { return try Self.hours(filter, key: "", visibility, in: database) }
        var seen: Set<String> = []
        return try keys.filter { seen.insert($0).inserted }.flatMap { key in
          // An empty key would be a prefix of every key.
          guard !key.isEmpty, filter.group.map(key.hasPrefix) ?? true else { return [HourCount]() }
          var own = filter
          own.group = key
          return try Self.hours(own, key: key, visibility, in: database)
        }.sorted { $0.hour > $1.hour }.prefix(HourCount.limit).map { $0 }
      }
    }
  }

  private static func hours(
    _ filter: ReportFilter, key: String, _ visibility: Visibility, in database: Database
  ) throws -> [HourCount] {
    guard let wanted = GroupRestriction(filter, visibility) else { return [] }
    return try TypedRow<HourCount>.fetchAll(
      database,
      sql: """
        SELECT hour, :hours_key AS key, sum(count) AS count FROM (
          SELECT substr(time, 1, 13) AS hour, count(*) AS count FROM group_reports \(wanted.clause) GROUP BY 1
          UNION ALL
          SELECT substr(hour, 1, 13), sum(count) FROM group_past \(wanted.pastClause) GROUP BY 1)
        GROUP BY hour ORDER BY hour DESC LIMIT :limit
        """, arguments: wanted.arguments(["limit": HourCount.limit, "hours_key": key])
    ).map(\.fields)
  }
}

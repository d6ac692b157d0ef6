public import CrashProtocol
import CrashReport
import GRDB

extension ReportStore {
  /// Returns groups of use-after-free incidents, sorted by the time when they were last seen, latest first.
  ///
  /// Complexity: O(n log n) in the number of stored incidents, and this number is limited. The size of a page is at
  /// most `UseAfterFree.rowBytes` for each group, plus the modes of all incidents in the groups.
  /// - Parameters:
  ///   - name: A string that the name of the program must contain.
  ///   - since: The earliest time of the last occurrence.
  ///   - visibility: The users whose incidents the caller is allowed to read.
  ///   - offset: The number of groups to skip.
  ///   - limit: The maximum number of groups.
  /// - Returns: The groups.
  /// - Throws: `StoreError.unavailable`.
  public func danglingGroups(
    name: String? = nil, since: String? = nil, visibility: Visibility = .all, offset: Int = 0, limit: Int
  ) throws(StoreError) -> [DanglingGroup] {
    let pool = try pool
    // The grouping ignores the bit in the owner key that marks processes with more privileges than their user.
    // Therefore, a caller who is allowed to read the incidents of all processes receives one group for both kinds of
    // processes.
    let key = "uid & ~\(OwnerKey.restricted), program, subject, kind, method, place"
    return try Self.translating(path) {
      try pool.read { database in
        // The query uses the SQL function total(), because sum() fails if the sum exceeds a 64-bit integer. The CAST
        // limits the result to the largest 64-bit integer.
        try TypedRow<DanglingGroup>.fetchAll(
          database,
          sql: """
            WITH found AS (
              SELECT *, row_number() OVER (same ORDER BY last DESC, id DESC) AS rank,
                row_number() OVER (same ORDER BY age_ns NULLS LAST) AS age_rank, count(age_ns) OVER (same) AS ages
              FROM use_after_frees
              WHERE (:uid IS NULL OR uid = :uid) AND (:name IS NULL OR instr(program, :name) > 0)
                AND (:since IS NULL OR last >= :since)
              WINDOW same AS (PARTITION BY \(key)))
            SELECT max(id) FILTER (WHERE rank = 1) AS id, program, subject AS className, kind,
              nullif(method, '') AS method, place, max(line) FILTER (WHERE rank = 1) AS line,
              CAST(total(count) AS INTEGER) AS count, count(DISTINCT process) AS processes,
              count(DISTINCT build) AS builds, count(DISTINCT release) AS releases,
              json_group_array(DISTINCT mode) AS modes, min(first) AS first, max(last) AS last,
              max(age_ns) FILTER (WHERE age_rank = ages / 2 + 1) AS age_ns,
              coalesce(max(confidence) FILTER (WHERE confidence = 'certain'),
                max(confidence) FILTER (WHERE rank = 1)) AS confidence
            FROM found GROUP BY \(key) ORDER BY last DESC, id DESC LIMIT :limit OFFSET :offset
            """,
          arguments: ["uid": visibility.uid, "name": name, "since": since, "limit": limit, "offset": offset]
        ).map { row in
          var group = row.fields
          group.modes.sort { $0.rawValue < $1.rawValue }
          return group
        }
      }
    }
  }
}

import GRDB

/// Divides a limit among users: the user with the most loses first, so that a flood evicts its own.
///
/// With n users each keeps at least the n-th part of the limit, and what others do not need besides.
public struct FairShare: Sendable {
  /// Whose share a user's things are charged to, such as the owner of a range of subordinate user ids.
  public typealias Rule = @Sendable (UInt32) -> UInt32

  private let rule: Rule

  /// Makes a division by user, or by whom `rule` charges.
  public init(_ rule: @escaping Rule = { $0 }) { self.rule = rule }

  /// How many of each user's things go so that no more than `limit` stay.
  ///
  /// Complexity: O(n log n) in the number of users.
  func surplus(of counts: [Int64: Int], limit: Int) -> [Int64: Int] {
    let shares = grouped(counts)
    let kept = Self.kept(of: shares.mapValues { $0.values.reduce(0, +) }, limit: limit)
    var surplus: [Int64: Int] = [:]
    for (share, users) in shares {
      for (user, count) in Self.kept(of: users, limit: kept[share] ?? 0) {
        let excess = (users[user] ?? 0) - count
        if excess > 0 { surplus[user] = excess }
      }
    }
    return surplus
  }

  /// The user with the most in the largest share; nil: there is none.
  func largest(of amounts: [Int64: Int]) -> Int64? {
    let shares = grouped(amounts)
    let sums = shares.mapValues { $0.values.reduce(0, +) }
    return Self.largestKey(of: sums).flatMap { shares[$0] }.flatMap(Self.largestKey)
  }

  /// Whose share the things of a user are charged to.
  func share(of user: Int64) -> Int64 {
    // What root alone sees of a user's is that user's share, too.
    UInt32(exactly: OwnerKey.uid(user)).map { Int64(rule($0)) } ?? user
  }

  private func grouped(_ amounts: [Int64: Int]) -> [Int64: [Int64: Int]] {
    var shares: [Int64: [Int64: Int]] = [:]
    for (user, amount) in amounts {
      shares[share(of: user), default: [:]][user] = amount
    }
    return shares
  }

  /// The smallest first: what they leave of an equal part is for those that have more.
  private static func kept(of counts: [Int64: Int], limit: Int) -> [Int64: Int] {
    var (rest, users) = (max(0, limit), counts.count)
    var kept: [Int64: Int] = [:]
    for (key, count) in counts.sorted(by: { ($0.value, $0.key) < ($1.value, $1.key) }) {
      let part = min(count, rest / users)
      kept[key] = part
      rest -= part
      users -= 1
    }
    return kept
  }

  private static func largestKey(of amounts: [Int64: Int]) -> Int64? {
    amounts.max { ($0.value, $1.key) < ($1.value, $0.key) }?.key
  }
}

extension ReportStore {
  /// Removes the oldest rows of the user with the most, so that no more than `limit` stay.
  ///
  /// `table` has a column `uid`; `key` names a row, by a column or by several in parentheses; `order` is a column that is
  /// smaller in older rows.
  static func evict(
    from table: String, key: String, order: String, limit: Int, _ fairShare: FairShare, in database: Database
  ) throws {
    let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
    guard count > limit else { return }
    let rows = try Row.fetchAll(database, sql: "SELECT uid, count(*) AS count FROM \(table) GROUP BY uid")
    let counts = rows.map { row -> (Int64, Int) in (row["uid"], row["count"]) }
    let columns = key.hasPrefix("(") ? String(key.dropFirst().dropLast()) : key
    for (uid, excess) in fairShare.surplus(of: Dictionary(counts) { $1 }, limit: limit) {
      try database.execute(
        sql: """
          DELETE FROM \(table) WHERE \(key) IN (SELECT \(columns) FROM \(table) WHERE uid = ? ORDER BY \(order) LIMIT ?)
          """, arguments: [uid, excess])
    }
  }
}

import GRDB

/// Divides a limit on the number of items among users.
///
/// If there are too many items, items of the user with the most items are removed first. Therefore, a user who creates
/// very many items causes only the removal of the user's own items.
///
/// With n users, each user can keep at least 1/n of the limit. A user can also use the part of the limit that other
/// users do not use.
public struct FairShare: Sendable {
  /// Returns the user to whom the items of a user are charged, for example the owner of a range of subordinate uids.
  public typealias Rule = @Sendable (UInt32) -> UInt32

  private let rule: Rule

  /// Creates a division; the closure `rule` decides to whom the items of a user are charged.
  public init(_ rule: @escaping Rule = { $0 }) { self.rule = rule }

  /// Returns for each user the number of items that must be removed so that at most `limit` items remain.
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

  /// Returns at most `limit` items: the first items of each user, in the order of `items`.
  func first<Item>(_ limit: Int, of items: [Item], owner: (Item) -> Int64) -> [Item] {
    let owners = items.map(owner)
    let counts = Dictionary(owners.map { ($0, 1) }, uniquingKeysWith: +)
    let surplus = surplus(of: counts, limit: limit)
    var left = counts.merging(surplus) { $0 - $1 }
    return zip(items, owners).compactMap { item, owner in
      guard let count = left[owner], count > 0 else { return nil }
      left[owner] = count - 1
      return item
    }
  }

  /// Finds the account that is charged with the most items, and returns the user in it with the most items; nil if
  /// there are no items.
  func largest(of amounts: [Int64: Int]) -> Int64? {
    let shares = grouped(amounts)
    let sums = shares.mapValues { $0.values.reduce(0, +) }
    return Self.largestKey(of: sums).flatMap { shares[$0] }.flatMap(Self.largestKey)
  }

  /// Returns the user to whom the items of a user are charged.
  func share(of user: Int64) -> Int64 {
    // Items of processes with more privileges than their user are also charged to this user.
    UInt32(exactly: OwnerKey.uid(user)).map { Int64(rule($0)) } ?? user
  }

  private func grouped(_ amounts: [Int64: Int]) -> [Int64: [Int64: Int]] {
    var shares: [Int64: [Int64: Int]] = [:]
    for (user, amount) in amounts {
      shares[share(of: user), default: [:]][user] = amount
    }
    return shares
  }

  /// Returns the number of items that each user can keep, in at most `limit` items.
  ///
  /// The loop starts with the user who has the fewest items.
  ///
  /// If a user has fewer items than an equal part of the limit, the unused rest of this part is divided among the users
  /// with more items.
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
  /// Removes the oldest rows of the users with the most rows, until at most `limit` rows remain.
  ///
  /// The parameter `table` is the name of a table with a column `uid`. The parameter `key` is the SQL for the key of a
  /// row: one column, or several columns in parentheses. The parameter `order` is a column whose values are smaller in
  /// older rows.
  static func evict(
    from table: String, key: String, order: String, limit: Int, _ fairShare: FairShare, in database: Database
  ) throws {
    let count = try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table)") ?? 0
    guard count > limit else { return }
    // Cast the uid, because a damaged store can have a value of another type in the column.
    let rows = try Row.fetchAll(
      database, sql: "SELECT CAST(uid AS INTEGER) AS uid, count(*) AS count FROM \(table) GROUP BY \(table).uid")
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

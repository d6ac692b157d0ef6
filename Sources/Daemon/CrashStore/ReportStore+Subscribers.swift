public import CrashProtocol
import GRDB

// Stores the names of subscribers and their cursors.
extension ReportStore {
  /// The maximum number of named subscribers of one user.
  public static let subscriberLimit = 64

  /// Returns the cursor of a subscriber, and registers the subscriber if it is new.
  ///
  /// The cursor of a new subscriber is the newest event.
  /// - Throws: `StoreError.tooManySubscribers`, `unavailable`.
  public func enter(subscriber name: String, uid: UInt32, at time: String) throws(StoreError) -> StoreCursor {
    return try Self.translating(path) {
      try writeInEpoch { database, epoch in
        let key: StatementArguments = ["name": name, "uid": Int64(uid), "time": time]
        let known = try Int64.fetchOne(
          database, sql: "SELECT acked FROM subscribers WHERE name = ? AND uid = ?", arguments: [name, Int64(uid)])
        if let known {
          try database.execute(
            sql: "UPDATE subscribers SET time = :time WHERE name = :name AND uid = :uid", arguments: key)
          return StoreCursor(epoch: epoch, sequence: known)
        }
        let count = try Int.fetchOne(
          database, sql: "SELECT count(*) FROM subscribers WHERE uid = ?", arguments: [Int64(uid)])
        guard count ?? 0 < Self.subscriberLimit else {
          throw StoreError.tooManySubscribers(limit: Self.subscriberLimit)
        }
        let newest = try Self.newestSequence(in: database)
        try database.execute(
          sql: "INSERT INTO subscribers (name, uid, acked, time) VALUES (?, ?, ?, ?)",
          arguments: [name, Int64(uid), newest, time])
        return StoreCursor(epoch: epoch, sequence: newest)
      }
    }
  }

  /// Records that a subscriber has processed all events up to `cursor`.
  ///
  /// If `cursor` is before the recorded cursor, the recorded cursor does not change.
  /// - Returns: The recorded cursor after the call.
  /// - Throws: `StoreError.noSuchSubscriber`, `invalidCursor`, `unavailable`.
  public func acknowledge(
    _ cursor: StoreCursor, subscriber name: String, uid: UInt32, at time: String
  ) throws(StoreError) -> StoreCursor {
    return try Self.translating(path) {
      try writeInEpoch { database, epoch in
        try Self.check(cursor, epoch: epoch, in: database)
        try database.execute(
          sql: "UPDATE subscribers SET acked = max(acked, ?), time = ? WHERE name = ? AND uid = ?",
          arguments: [cursor.sequence, time, name, Int64(uid)])
        return StoreCursor(epoch: epoch, sequence: try Self.acknowledged(name, uid, in: database))
      }
    }
  }

  /// Returns the recorded cursor of a subscriber.
  /// - Throws: `StoreError.noSuchSubscriber`, `unavailable`.
  public func cursor(ofSubscriber name: String, uid: UInt32) throws(StoreError) -> StoreCursor {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      StoreCursor(epoch: epoch, sequence: try pool.read { try Self.acknowledged(name, uid, in: $0) })
    }
  }

  /// Removes a subscriber and its cursor.
  /// - Throws: `StoreError.noSuchSubscriber`, `unavailable`.
  public func forget(subscriber name: String, uid: UInt32) throws(StoreError) {
    try Self.translating(path) {
      try write { database in
        _ = try Self.acknowledged(name, uid, in: database)
        try database.execute(
          sql: "DELETE FROM subscribers WHERE name = ? AND uid = ?", arguments: [name, Int64(uid)])
      }
    }
  }

  /// Returns the subscribers that the caller is allowed to read, sorted by name.
  /// - Throws: `StoreError.unavailable`.
  public func subscribers(visibility: Visibility = .all) throws(StoreError) -> [Subscriber] {
    let (pool, epoch) = try current
    return try Self.translating(path) {
      try pool.read { database in
        let rows = try TypedRow<Subscriber>.fetchAll(
          database,
          sql: """
            SELECT name, uid, CAST(acked AS TEXT) AS cursor, time FROM subscribers WHERE (:uid IS NULL OR uid = :uid) ORDER BY name, uid
            LIMIT 1000
            """, arguments: ["uid": visibility.uid])
        return try rows.map { row in
          let acknowledged = Int64(row.fields.cursor) ?? 0
          var subscriber = row.fields
          subscriber.cursor = StoreCursor(epoch: epoch, sequence: acknowledged).description
          subscriber.behind = try Self.events(after: acknowledged, visibility, in: database)
          return subscriber
        }
      }
    }
  }

  /// Returns the number of events that were stored after the event with the given number.
  ///
  /// For a caller who is allowed to read only one user's events, only reports that still exist are counted. The event
  /// numbers cannot be used in this case, because they also count the events of other users.
  private static func events(after sequence: Int64, _ visibility: Visibility, in database: Database) throws -> Int {
    guard let uid = visibility.uid else { return max(0, Int(clamping: try newestSequence(in: database) - sequence)) }
    return try Int.fetchOne(
      database, sql: "SELECT count(*) FROM reports WHERE uid = ? AND seq > ?", arguments: [uid, sequence]) ?? 0
  }

  private static func acknowledged(_ name: String, _ uid: UInt32, in database: Database) throws -> Int64 {
    let sequence = try Int64.fetchOne(
      database, sql: "SELECT acked FROM subscribers WHERE name = ? AND uid = ?", arguments: [name, Int64(uid)])
    guard let sequence else { throw StoreError.noSuchSubscriber(name: name) }
    return sequence
  }
}

public import FoundationEssentials
import GRDB

/// The stored state of one service for its use-after-free statistics; the store does not read it.
public struct DanglingState: Codable, Sendable, Equatable {
  fileprivate var owner: Int64
  /// The executable's path.
  public var program: String
  /// The policy's state.
  public var policy: Data
  /// The statistics of its classes.
  public var classes: Data

  // The columns.
  private enum CodingKeys: String, CodingKey { case owner = "uid", program, policy, classes }

  /// Makes a state from its parts.
  public init(uid: UInt32, program: String, isRestricted: Bool = false, policy: Data, classes: Data) {
    owner = OwnerKey.of(uid: Int(uid), isRestricted: isRestricted)
    (self.program, self.policy, self.classes) = (program, policy, classes)
  }

  /// The user of the processes.
  public var uid: UInt32 { UInt32(clamping: OwnerKey.uid(owner)) }
  /// They have more rights than their user, who may not see it.
  public var isRestricted: Bool { OwnerKey.isRestricted(owner) }
}

/// A decision about a service.
public struct DanglingEvent: Codable, Sendable, Equatable {
  /// Its number in the store; 0 before it is stored.
  public private(set) var sequence: Int64 = 0
  fileprivate var owner: Int64
  /// The executable's path.
  public var program: String
  /// RFC 3339 in UTC.
  public var time: String
  /// The complete event.
  public var json: Data

  // The columns.
  private enum CodingKeys: String, CodingKey { case sequence = "seq", owner = "uid", program, time, json }

  /// Makes an event from its parts.
  public init(uid: UInt32, program: String, isRestricted: Bool = false, time: String, json: Data) {
    owner = OwnerKey.of(uid: Int(uid), isRestricted: isRestricted)
    (self.program, self.time, self.json) = (program, time, json)
  }

  /// The user of the processes.
  public var uid: UInt32 { UInt32(clamping: OwnerKey.uid(owner)) }
  /// They have more rights than their user, who may not see it.
  public var isRestricted: Bool { OwnerKey.isRestricted(owner) }
}

// Which classes are protected, and why.
extension ReportStore {
  /// The limit of events; the oldest of the user with the most are evicted.
  public static let danglingEventLimit = 10_000

  /// Stores the state of a service and decisions, both or neither.
  /// - Throws: `StoreError.unavailable`.
  public func put(dangling state: DanglingState, events: [DanglingEvent] = []) throws(StoreError) {
    let fairShare = fairShare
    try Self.translating(path) {
      try write { database in
        try database.execute(
          sql: """
            INSERT INTO dangling_services (uid, program, policy, classes) VALUES (?, ?, ?, ?)
            ON CONFLICT (uid, program) DO UPDATE SET policy = excluded.policy, classes = excluded.classes
            """,
          arguments: [state.owner, state.program, state.policy, state.classes])
        for event in events {
          try database.execute(
            sql: "INSERT INTO dangling_events (uid, program, time, json) VALUES (?, ?, ?, ?)",
            arguments: [event.owner, event.program, event.time, event.json])
        }
        guard !events.isEmpty else { return }
        try Self.evict(
          from: "dangling_events", key: "seq", order: "seq", limit: Self.danglingEventLimit, fairShare, in: database)
      }
    }
  }

  /// Forgets a service; its events stay.
  /// - Throws: `StoreError.unavailable`.
  public func forgetDangling(uid: UInt32, program: String, isRestricted: Bool = false) throws(StoreError) {
    try Self.translating(path) {
      try write { database in
        try database.execute(
          sql: "DELETE FROM dangling_services WHERE uid = ? AND program = ?",
          arguments: [OwnerKey.of(uid: Int(uid), isRestricted: isRestricted), program])
      }
    }
  }

  /// The states of all services.
  /// - Throws: `StoreError.unavailable`.
  public func danglingStates() throws(StoreError) -> [DanglingState] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        try TypedRow<DanglingState>.fetchAll(
          database, sql: "SELECT uid, program, policy, classes FROM dangling_services ORDER BY uid, program"
        ).map(\.fields)
      }
    }
  }

  /// The decisions, the latest first.
  /// - Parameters:
  ///   - programs: Only about these.
  ///   - visibility: Whose may be seen.
  ///   - limit: At most so many.
  /// - Returns: The events.
  /// - Throws: `StoreError.unavailable`.
  public func danglingEvents(
    programs: Set<String>? = nil, visibility: Visibility = .all, limit: Int
  ) throws(StoreError) -> [DanglingEvent] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let cursor = try TypedRow<DanglingEvent>.fetchCursor(
          database,
          sql: """
            SELECT seq, uid, program, time, json FROM dangling_events WHERE (:uid IS NULL OR uid = :uid)
            ORDER BY seq DESC
            """, arguments: ["uid": visibility.uid])
        var events: [DanglingEvent] = []
        while events.count < limit, let event = try cursor.next()?.fields {
          if programs?.contains(event.program) != false { events.append(event) }
        }
        return events
      }
    }
  }
}

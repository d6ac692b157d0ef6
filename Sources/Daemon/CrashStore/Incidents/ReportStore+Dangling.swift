import FoundationEssentials
import GRDB

/// The stored state of one service for its use-after-free statistics; the store does not read it.
public struct DanglingState: Sendable, Equatable {
  /// The user of the processes.
  public var uid: UInt32
  /// The executable's path.
  public var program: String
  /// They have more rights than their user, who may not see it.
  public var isRestricted: Bool
  /// The policy's state.
  public var policy: [UInt8]
  /// The statistics of its classes.
  public var classes: [UInt8]

  /// Makes a state from its parts.
  public init(uid: UInt32, program: String, isRestricted: Bool = false, policy: [UInt8], classes: [UInt8]) {
    self.uid = uid
    self.program = program
    self.isRestricted = isRestricted
    self.policy = policy
    self.classes = classes
  }
}

/// A decision about a service.
public struct DanglingEvent: Sendable, Equatable {
  /// Its number in the store; 0 before it is stored.
  public var sequence: Int64
  /// The user of the processes.
  public var uid: UInt32
  /// The executable's path.
  public var program: String
  /// They have more rights than their user, who may not see it.
  public var isRestricted: Bool
  /// RFC 3339 in UTC.
  public var time: String
  /// The complete event.
  public var json: [UInt8]

  /// Makes an event from its parts.
  public init(
    sequence: Int64 = 0, uid: UInt32, program: String, isRestricted: Bool = false, time: String, json: [UInt8]
  ) {
    self.sequence = sequence
    self.uid = uid
    self.program = program
    self.isRestricted = isRestricted
    self.time = time
    self.json = json
  }
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
          arguments: [
            Self.owner(state.uid, state.isRestricted), state.program, Data(state.policy), Data(state.classes),
          ])
        for event in events {
          try database.execute(
            sql: "INSERT INTO dangling_events (uid, program, time, json) VALUES (?, ?, ?, ?)",
            arguments: [Self.owner(event.uid, event.isRestricted), event.program, event.time, Data(event.json)])
        }
        guard !events.isEmpty else { return }
        try Self.evict(
          from: "dangling_events", key: "seq", order: "seq", limit: Self.danglingEventLimit, fairShare, in: database)
      }
    }
  }

  private static func owner(_ uid: UInt32, _ isRestricted: Bool) -> Int64 {
    OwnerKey.of(uid: Int(uid), isRestricted: isRestricted)
  }

  /// Forgets a service; its events stay.
  /// - Throws: `StoreError.unavailable`.
  public func forgetDangling(uid: UInt32, program: String, isRestricted: Bool = false) throws(StoreError) {
    try Self.translating(path) {
      try write { database in
        try database.execute(
          sql: "DELETE FROM dangling_services WHERE uid = ? AND program = ?",
          arguments: [Self.owner(uid, isRestricted), program])
      }
    }
  }

  /// The states of all services.
  /// - Throws: `StoreError.unavailable`.
  public func danglingStates() throws(StoreError) -> [DanglingState] {
    let pool = try pool
    return try Self.translating(path) {
      try pool.read { database in
        let rows = try Row.fetchAll(
          database, sql: "SELECT uid, program, policy, classes FROM dangling_services ORDER BY uid, program")
        return rows.map { row in
          let owner: Int64 = row["uid"]
          return DanglingState(
            uid: UInt32(clamping: OwnerKey.uid(owner)), program: row["program"],
            isRestricted: OwnerKey.isRestricted(owner),
            policy: Array(row["policy"] as Data),
            classes: Array(row["classes"] as Data))
        }
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
        let cursor = try Row.fetchCursor(
          database,
          sql: """
            SELECT seq, uid, program, time, json FROM dangling_events WHERE (:uid IS NULL OR uid = :uid)
            ORDER BY seq DESC
            """, arguments: ["uid": visibility.uid])
        var events: [DanglingEvent] = []
        while events.count < limit, let row = try cursor.next() {
          guard programs?.contains(row["program"]) != false else { continue }
          let owner: Int64 = row["uid"]
          events.append(
            DanglingEvent(
              sequence: row["seq"], uid: UInt32(clamping: OwnerKey.uid(owner)), program: row["program"],
              isRestricted: OwnerKey.isRestricted(owner), time: row["time"], json: Array(row["json"] as Data)))
        }
        return events
      }
    }
  }
}

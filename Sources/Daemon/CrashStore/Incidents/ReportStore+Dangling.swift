public import FoundationEssentials
import GRDB

/// The stored state of the use-after-free statistics for one service.
///
/// A service is one program of one user. The store does not interpret the state.
public struct DanglingState: Codable, Sendable, Equatable {
  fileprivate var owner: Int64
  /// The path of the service's executable.
  public var program: String
  /// The encoded state of the service's protection policy.
  public var policy: Data
  /// The encoded statistics of the service's classes.
  public var classes: Data

  // These coding keys are the names of the columns in the database.
  private enum CodingKeys: String, CodingKey { case owner = "uid", program, policy, classes }

  /// Creates a state from its parts.
  public init(uid: UInt32, program: String, isRestricted: Bool = false, policy: Data, classes: Data) {
    owner = OwnerKey.of(uid: Int(uid), isRestricted: isRestricted)
    (self.program, self.policy, self.classes) = (program, policy, classes)
  }

  /// The user ID of the service's processes.
  public var uid: UInt32 { UInt32(clamping: OwnerKey.uid(owner)) }
  /// Whether the service's processes have more privileges than their user.
  ///
  /// If the processes have more privileges, the user is not allowed to read the state.
  public var isRestricted: Bool { OwnerKey.isRestricted(owner) }
}

/// A decision about the protection of a service, stored as an event.
public struct DanglingEvent: Codable, Sendable, Equatable {
  /// The number that the store assigned to the event; 0 until the event is stored.
  public private(set) var sequence: Int64 = 0
  fileprivate var owner: Int64
  /// The path of the service's executable.
  public var program: String
  /// The time of the decision, as RFC 3339 in UTC.
  public var time: String
  /// The complete event as JSON.
  public var json: Data

  // These coding keys are the names of the columns in the database.
  private enum CodingKeys: String, CodingKey { case sequence = "seq", owner = "uid", program, time, json }

  /// Creates an event from its parts.
  public init(uid: UInt32, program: String, isRestricted: Bool = false, time: String, json: Data) {
    owner = OwnerKey.of(uid: Int(uid), isRestricted: isRestricted)
    (self.program, self.time, self.json) = (program, time, json)
  }

  /// The user ID of the service's processes.
  public var uid: UInt32 { UInt32(clamping: OwnerKey.uid(owner)) }
  /// Whether the service's processes have more privileges than their user.
  ///
  /// If the processes have more privileges, the user is not allowed to read the event.
  public var isRestricted: Bool { OwnerKey.isRestricted(owner) }
}

// Stores the state of use-after-free protection: which classes are protected, and why.
extension ReportStore {
  /// The maximum number of stored decisions.
  ///
  /// If there are more decisions, the oldest decisions of the user with the most decisions are evicted.
  public static let danglingEventLimit = 10_000

  /// Stores the state of a service together with its decisions, in one transaction.
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

  /// Removes the stored state of a service.
  ///
  /// The decisions about the service stay in the store.
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

  /// Returns the states of all services.
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

  /// Returns the decisions about services, latest first.
  /// - Parameters:
  ///   - programs: Return only decisions about these programs; nil: about all programs.
  ///   - visibility: The users whose decisions the caller is allowed to read.
  ///   - limit: The maximum number of decisions.
  /// - Returns: The decisions.
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

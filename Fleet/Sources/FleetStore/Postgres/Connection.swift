import CPostgres

/// A statement, which each connection prepares once.
package struct Statement: Sendable {
  /// The name of the prepared statement, which is unique.
  var name: String
  var sql: String

  package init(name: String, sql: String) { (self.name, self.sql) = (name, sql) }
}

/// The rows of a result, as text.
package struct Rows: Sendable {
  package var rows: [[String?]] = []

  /// The first column of the first row.
  package var first: String? { rows.first?.first ?? nil }
}

extension [String?] {
  /// The integer in a column; 0 for null, because no statement here returns null for a number that has a meaning.
  package func integer(_ column: Int) -> Int64 { self[column].flatMap { Int64($0) } ?? 0 }
  package func text(_ column: Int) -> String { self[column] ?? "" }
  package func flag(_ column: Int) -> Bool { self[column] == "t" }
}

/// One connection to PostgreSQL. Its calls block.
///
/// Only one thread at a time is allowed to use it.
// Sendable: the pool passes a connection to only one closure at a time.
@safe
final class Connection: @unchecked Sendable {
  // The pointers stay valid until `deinit`.
  private let pointer: OpaquePointer
  private let notices: UnsafeMutablePointer<cs_pg_notices>
  private var prepared: Set<String> = []
  /// The maximum time for which a call waits for the server, in milliseconds; negative for no limit.
  ///
  /// The server ends a statement after 30 s, but not a commit that waits for standbys. Without this limit, a primary
  /// that has lost its standbys would block all connections forever.
  var patience_ms: Int32 = 45_000

  /// Connects to the first server in the connection string that accepts writes.
  init(_ info: String) throws(FleetError) {
    guard let pointer = unsafe cs_pg_connect(info) else { throw .unreachable("libpq has no memory") }
    let message = unsafe Self.message(pointer)
    guard unsafe PQstatus(pointer) == CONNECTION_OK else {
      unsafe cs_pg_finish(pointer)
      throw .unreachable(message)
    }
    unsafe (self.pointer, notices) = (pointer, .allocate(capacity: 1))
    unsafe notices.initialize(to: cs_pg_notices())
    unsafe cs_pg_watch(pointer, notices)
  }

  deinit {
    unsafe cs_pg_finish(pointer)
    unsafe notices.deallocate()
  }

  /// Runs a statement.
  ///
  /// Prepares it first if this connection has not prepared it yet.
  @discardableResult
  func run(_ statement: Statement, _ parameters: Parameters = Parameters()) throws(FleetError) -> Rows {
    if !prepared.contains(statement.name) {
      // libpq copies both strings during the call.
      _ = try unsafe take { result in unsafe cs_pg_prepare(pointer, statement.name, statement.sql, patience_ms, &result)
      }
      prepared.insert(statement.name)
    }
    return try unsafe take { result in
      // Invariant: the buffers are valid during the call, and each value's offset in `ends` lies within `bytes`.
      unsafe parameters.bytes.withUnsafeBufferPointer { bytes in
        unsafe parameters.ends.withUnsafeBufferPointer { ends in
          var all = unsafe cs_pg_parameters(bytes: bytes.baseAddress, ends: ends.baseAddress, count: ends.count)
          return unsafe cs_pg_run(pointer, statement.name, &all, patience_ms, &result)
        }
      }
    }
  }

  /// Runs SQL without parameters, which can contain several statements.
  @discardableResult
  func script(_ sql: String) throws(FleetError) -> Rows {
    try unsafe take { result in unsafe cs_pg_script(pointer, sql, patience_ms, &result) }
  }

  /// Runs the body in a transaction, and commits it if the body does not throw.
  ///
  /// - Throws: `FleetError.unreplicated` if no standby has confirmed the commit.
  @discardableResult
  func transaction<Value>(_ body: () throws(FleetError) -> Value) throws(FleetError) -> Value {
    try script("begin")
    let value: Value
    do throws(FleetError) { value = try body() } catch {
      // If the connection is broken, the server rolls back without a command. If the rollback fails, the connection is
      // closed, too.
      if !error.endsConnection { try script("rollback") }
      throw error
    }
    unsafe notices.pointee.is_unreplicated = false
    try script("commit")
    if unsafe notices.pointee.is_unreplicated { throw .unreplicated }
    return value
  }

  /// Waits for a notification of a channel on which this connection listens.
  ///
  /// Returns whether a notification with this payload arrived.
  func awaitNotification(_ payload: String, timeout_ms: Int32) throws(FleetError) -> Bool {
    // libpq does not keep the string.
    switch unsafe cs_pg_await_notification(pointer, payload, timeout_ms) {
    case CS_PG_ANSWERED: return true
    case CS_PG_TIMED_OUT: return false
    default: throw unsafe .unreachable(Self.message(pointer))
    }
  }

  private func take(_ call: (inout OpaquePointer?) -> cs_pg_outcome) throws(FleetError) -> Rows {
    var taken: OpaquePointer?
    let outcome = unsafe call(&taken)
    if outcome == CS_PG_TIMED_OUT { throw .unreachable("the server does not answer for \(patience_ms / 1_000) s") }
    guard outcome == CS_PG_ANSWERED, let result = unsafe taken else {
      throw .unreachable(unsafe Self.message(pointer))
    }
    defer { unsafe PQclear(result) }
    let status = unsafe PQresultStatus(result)
    if status == PGRES_COMMAND_OK || status == PGRES_EMPTY_QUERY { return Rows() }
    guard status == PGRES_TUPLES_OK else {
      // PostgreSQL answers the commit of a failed transaction with PGRES_COMMAND_OK. This does not occur here, because
      // `body` threw before the commit.
      let state = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "C"))).map { unsafe String(cString: $0) } ?? ""
      let text = unsafe PQresultErrorField(result, Int32(UInt8(ascii: "M"))).map { unsafe String(cString: $0) }
      throw unsafe FleetError(state: state, text ?? Self.message(pointer))
    }
    return unsafe Self.rows(result)
  }

  private static func rows(_ result: OpaquePointer) -> Rows {
    let (count, columns) = unsafe (PQntuples(result), PQnfields(result))
    var rows = Rows()
    for row in 0..<count {
      rows.rows.append(
        (0..<columns).map { column in
          // Invariant: row and column are in range, and libpq's value has the length that `PQgetlength` returns.
          guard unsafe PQgetisnull(result, row, column) == 0, let value = unsafe PQgetvalue(result, row, column) else {
            return nil
          }
          let length = unsafe Int(PQgetlength(result, row, column))
          return unsafe UnsafeRawBufferPointer(start: value, count: length).withMemoryRebound(to: UInt8.self) {
            unsafe String(decoding: $0, as: UTF8.self)
          }
        })
    }
    return rows
  }

  /// The last message of a connection in one line.
  private static func message(_ pointer: OpaquePointer) -> String {
    // Invariant: libpq's string is valid until the next call, which comes after the copy.
    guard let text = unsafe PQerrorMessage(pointer) else { return "" }
    return unsafe String(cString: text).split(whereSeparator: \.isNewline).joined(separator: "; ")
  }
}

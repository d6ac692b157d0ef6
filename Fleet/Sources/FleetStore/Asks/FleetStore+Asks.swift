// Stores asks (requests of operators to all hosts of a tenant), and the answers of the hosts.
extension FleetStore {
  /// The maximum number of open asks of a tenant, because each answer to a batch contains them all.
  public static let askLimit = 8
  /// For this many days after an ask has ended, the fleet still accepts answers to it.
  ///
  /// A host can be offline when the ask ends.
  static let answerDays: Int32 = 7
  /// The maximum number of keys of an ask: the newest ones of its issue.
  private static let keyLimit = 4

  /// Asks all hosts of the tenant for the next report of an issue.
  ///
  /// Returns the number of the ask; nil if the tenant has no such issue.
  /// - Throws: `AskProblem.tooMany`, or a `FleetError`.
  public func askForReport(issue: Int64, tenant: Int32, days: Int32) async throws -> Int64? {
    try await add(Self.addReportAsk, tenant, .int64(issue) + .int32(days))
  }

  /// Asks all hosts of the tenant to protect a class of a program, and returns the number of the ask.
  /// - Throws: `AskProblem.tooMany`, or a `FleetError`.
  public func askForProtection(
    program: String, className: String, tenant: Int32, days: Int32
  ) async throws -> Int64 {
    let parameters: Parameters = .text(program) + .text(className) + .int32(days)
    guard let number = try await add(Self.addProtectionAsk, tenant, parameters) else { throw FleetError.stale }
    return number
  }

  private func add(_ statement: Statement, _ tenant: Int32, _ parameters: Parameters) async throws -> Int64? {
    let (isFull, number) = try await run { connection throws(FleetError) in
      try connection.transaction { () throws(FleetError) in
        // The lock prevents two operators from exceeding the limit together.
        try connection.run(Self.lockAsks, .int32(tenant))
        let open = try connection.run(Self.countAsks, .int32(tenant)).first.flatMap { Int($0) } ?? 0
        if open >= Self.askLimit { return (true, nil as Int64?) }
        return (false, try connection.run(statement, .int32(tenant) + parameters).first.flatMap { Int64($0) })
      }
    }
    if isFull { throw AskProblem.tooMany }
    return number
  }

  /// Returns the asks of a tenant, newest first.
  public func asks(tenant: Int32, limit: Int32 = 100) async throws(FleetError) -> [AskState] {
    try await retrying { connection throws(FleetError) in
      try connection.run(Self.listAsks, .int32(tenant) + .int32(limit)).rows
        .compactMap { row in
          guard let ask = Self.ask(row) else { return nil }
          var answers: [String: Int64] = [:]
          for part in row.text(8).split(separator: ",") {
            let pair = part.split(separator: "=")
            if pair.count == 2 { answers[String(pair[0])] = Int64(pair[1]) }
          }
          return AskState(
            ask: ask, state: row.text(5), created: row.text(6), expires: row.text(7), answers: answers)
        }
    }
  }

  /// Withdraws an open ask, and returns false if the tenant has no such ask.
  public func withdraw(ask: Int64, tenant: Int32) async throws(FleetError) -> Bool {
    try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "withdraw_ask",
          sql: """
            update ask set withdrawn = coalesce(withdrawn, now())
            where tenant = $1::int and id = $2::bigint and expires > now() returning id
            """), .int32(tenant) + .int64(ask)
      ).first != nil
    }
  }

  /// Returns the open asks of all tenants, oldest first.
  public func openAsks() async throws(FleetError) -> [Int32: [Ask]] {
    try await run { connection throws(FleetError) in
      var asks: [Int32: [Ask]] = [:]
      for row in try connection.run(Self.findOpenAsks).rows {
        if let ask = Self.ask(row) { asks[Int32(truncatingIfNeeded: row.integer(5)), default: []].append(ask) }
      }
      return asks
    }
  }

  /// Returns the open asks that a machine has answered.
  ///
  /// An ask that the machine refused is not among them, because the machine's settings can change before its next
  /// start.
  public func answeredAsks(tenant: Int32, machine: UInt128) async throws(FleetError) -> [Int64] {
    try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "answered_asks",
          sql: """
            select a.id from ask a join ask_answer r on r.ask = a.id join host h on h.id = r.host
            where a.tenant = $1::int and h.tenant = $1::int and h.machine = $2::uuid and a.withdrawn is null
              and a.expires > now() and r.outcome <> 'refused' order by a.id
            """), .int32(tenant) + .uuid(machine)
      ).rows.map { $0.integer(0) }
    }
  }

  private static func ask(_ row: [String?]) -> Ask? {
    let subject: Ask.Subject
    if let className = row[4] {
      subject = .protection(className: className)
    } else {
      subject = .report(issue: row.integer(2), keys: row.text(3).split(separator: "\n").map(String.init))
    }
    return Ask(id: row.integer(0), program: row.text(1), subject: subject)
  }

  private static let lockAsks = Statement(name: "lock_asks", sql: "select pg_advisory_xact_lock(1634954099, $1::int)")

  private static let countAsks = Statement(
    name: "count_asks",
    sql: "select count(*) from ask where tenant = $1::int and withdrawn is null and expires > now()")

  private static let addProtectionAsk = Statement(
    name: "add_protection_ask",
    sql: """
      insert into ask (tenant, program, class, expires)
      values ($1::int, $2::text, $3::text, now() + $4::int * interval '1 day') returning id
      """)

  private static let addReportAsk = Statement(
    name: "add_report_ask",
    sql: """
      insert into ask (tenant, program, issue, expires)
      select tenant, program, id, now() + $3::int * interval '1 day' from issue
      where tenant = $1::int and id = $2::bigint returning id
      """)

  // A line break separates the keys. The statement omits keys with control characters, so no key contains a line break.
  private static let keys = """
    (select string_agg(key, E'\\n' order by id) from (
      select l.id, l.key from alias l where l.issue = a.issue and l.key !~ '[[:cntrl:]]'
      order by l.id desc limit \(keyLimit)) newest)
    """

  private static let listAsks = Statement(
    name: "list_asks",
    sql: """
      select a.id, a.program, a.issue, \(keys), a.class,
        case when a.withdrawn is not null then 'withdrawn' when a.expires <= now() then 'expired' else 'open' end,
        to_char(a.created at time zone 'UTC', 'YYYY-MM-DD HH24:MI'),
        to_char(a.expires at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), (
          select string_agg(outcome || '=' || hosts, ',' order by outcome) from (
            select outcome, count(*) hosts from ask_answer r where r.ask = a.id group by outcome) sum)
      from ask a where a.tenant = $1::int order by a.id desc limit $2::int
      """)

  private static let findOpenAsks = Statement(
    name: "open_asks",
    sql: """
      select a.id, a.program, a.issue, \(keys), a.class, a.tenant
      from ask a where a.withdrawn is null and a.expires > now() order by a.id
      """)
}

/// The reason why an ask cannot be added.
public enum AskProblem: Error, CustomStringConvertible {
  /// The tenant has the maximum number of open asks.
  case tooMany

  /// One sentence that says what to do.
  public var description: String {
    "the tenant has \(FleetStore.askLimit) open asks already; withdraw one with 'crash-fleet ask withdraw'"
  }
}

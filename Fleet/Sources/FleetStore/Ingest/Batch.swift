/// The rows of one batch, in the order in which its transaction locks them.
struct Batch: Sendable {
  /// The outcome of each item, before the database is asked.
  private(set) var outcomes: [IngestOutcome]
  var numbers: BatchDimensions

  private struct Report: Sendable {
    var report: IncomingReport
    var day: Int64
    var hour: Int64
    /// The indices of the items that contain this report.
    ///
    /// Only its newest revision is stored.
    var items: [Int]
  }

  private var reports: [Report] = []
  private var counts: [(count: IncomingCount, hour: Int64)] = []
  private var positions: [IncomingPosition] = []
  private var answers: [IncomingAnswer] = []

  var isEmpty: Bool { reports.isEmpty && counts.isEmpty && positions.isEmpty && answers.isEmpty }

  init(_ items: [IngestItem], tenant: Int32, window: IngestWindow) {
    numbers = BatchDimensions(tenant: tenant)
    outcomes = Array(repeating: .counted, count: items.count)
    var known: [UInt128: Int] = [:]
    for (at, item) in items.enumerated() {
      switch item {
      case .report(let report):
        guard let day = window.day(of: report.time_us) else {
          outcomes[at] = .expired
          continue
        }
        if let first = known[report.id] {
          reports[first].items.append(at)
          if report.revision > reports[first].report.revision { reports[first].report = report }
        } else {
          known[report.id] = reports.count
          let hour = day == 0 ? 0 : report.time_us / IngestWindow.hour_us
          reports.append(Report(report: report, day: day, hour: hour, items: [at]))
        }
      case .count(let count):
        if let hour = window.hour(count.hour) { counts.append((count, hour)) } else { outcomes[at] = .expired }
      case .position(let position): positions.append(position)
      case .answer(let answer): answers.append(answer)
      }
    }
    reports.sort { $0.report.id < $1.report.id }
  }

  /// Stores everything in one transaction.
  func store(_ connection: Connection) throws(FleetError) -> [IngestOutcome] {
    try connection.transaction { () throws(FleetError) in
      guard try numbers.areCurrent(connection) else { throw .stale }
      var (outcomes, deltas) = (outcomes, CounterDeltas())
      try store(reports: connection, &outcomes, &deltas)
      try store(positions: connection)
      try store(answers: connection)
      for (count, hour) in counts {
        guard let row = row(count.host, count.build, count.group, hour: hour, run: count.run) else { continue }
        deltas.set(count.crashes, row)
      }
      // Update the issues last, because many batches lock the row of the same issue until they commit.
      try deltas.store(connection)
      return outcomes
    }
  }

  private func row(
    _ host: IncomingHost, _ build: IncomingBuild, _ group: IncomingGroup, hour: Int64, run: Int64 = 0
  ) -> CounterDeltas.Row? {
    guard let hostID = numbers.hosts[host.machine], let buildID = numbers.builds[build],
      let alias = numbers.alias(build, group)
    else { return nil }
    return CounterDeltas.Row(alias: alias, host: hostID, build: buildID, hour: hour, run: run)
  }

  private func store(
    reports connection: Connection, _ outcomes: inout [IngestOutcome], _ deltas: inout CounterDeltas
  ) throws(FleetError) {
    if reports.isEmpty { return }
    let all = reports.compactMap { entry in
      row(entry.report.host, entry.report.build, entry.report.group, hour: entry.hour).map { (entry, $0) }
    }
    precondition(all.count == reports.count, "BUG: a report has no host, build or group")
    let bodies = all.map(\.0.report)
    var parameters =
      Parameters.int32(numbers.tenant) + .uuids(bodies.map(\.id)) + .int64s(all.map(\.0.day))
      + .int64s(bodies.map(\.revision)) + .int32s(all.map(\.1.alias)) + .int32s(all.map(\.1.host))
      + .int32s(all.map(\.1.build)) + .int64s(bodies.map(\.time_us))
    parameters = parameters + .texts(bodies.map(\.group.signal)) + .texts(bodies.map(\.group.cause))
    parameters = parameters + .optionalTexts(bodies.map(\.unit)) + .optionalTexts(bodies.map(\.release))
    parameters = parameters + .optionalTexts(bodies.map(\.environment)) + .optionalTexts(bodies.map(\.route))
    parameters = parameters + .bytesArray(bodies.map(\.body))
    // The statement returns a row for each report that it inserted or updated.
    var changed: [UInt128: Change] = [:]
    for row in try connection.run(Self.addReports, parameters).rows {
      guard let id = UInt128(row.text(0).filter { $0 != "-" }, radix: 16) else { continue }
      changed[id] = Change(row)
    }
    for (entry, row) in all {
      let change = changed[entry.report.id]
      let outcome: IngestOutcome = change.map { $0.previous == nil ? .stored : .updated } ?? .duplicate
      for (at, item) in entry.items.enumerated() { outcomes[item] = at == 0 ? outcome : .duplicate }
      guard let change, change.previous != row.alias else { continue }
      // The stored row determines the counter, because a later revision can claim another host or hour.
      let new = CounterDeltas.Row(
        alias: row.alias, host: change.host, build: change.build, hour: entry.day == 0 ? 0 : change.hour, run: 0)
      deltas.add(1, new)
      if let previous = change.previous {
        var old = new
        old.alias = previous
        deltas.add(-1, old)
      }
    }
  }

  /// A report that a statement inserted or updated.
  private struct Change {
    /// The group before the update; nil for a new report.
    var previous: Int32?
    var host: Int32
    var build: Int32
    var hour: Int64

    init(_ row: [String?]) {
      previous = row[1].flatMap { Int32($0) }
      (host, build) = (Int32(truncatingIfNeeded: row.integer(2)), Int32(truncatingIfNeeded: row.integer(3)))
      hour = row.integer(4)
    }
  }

  private func store(positions connection: Connection) throws(FleetError) {
    for position in positions {
      guard let host = numbers.hosts[position.host.machine] else { continue }
      let parameters: Parameters = .int32(host) + .text(position.stream) + .text(position.position)
      try connection.run(Self.setPosition, parameters)
      let clock = position.time_us.map(Parameters.int64) ?? .null
      try connection.run(Self.setHost, .int32(host) + .text(position.host.name) + clock)
    }
  }

  private func store(answers connection: Connection) throws(FleetError) {
    // If a host answers an ask in two items of a batch, the last answer that is not a refusal counts.
    var newest: [[Int64]: IncomingAnswer.Outcome] = [:]
    for answer in answers {
      guard let host = numbers.hosts[answer.host.machine] else { continue }
      let key = [answer.ask, Int64(host)]
      if answer.outcome != .refused || newest[key] == nil { newest[key] = answer.outcome }
    }
    if newest.isEmpty { return }
    let sorted = newest.sorted { $0.key.lexicographicallyPrecedes($1.key) }
    let parameters = Parameters.int32(numbers.tenant) + .int64s(sorted.map { $0.key[0] })
    let hosts = sorted.map { Int32(truncatingIfNeeded: $0.key[1]) }
    try connection.run(Self.addAnswers, parameters + .int32s(hosts) + .texts(sorted.map(\.value.rawValue)))
  }

  // Ignores an answer if its ask does not exist, belongs to another tenant, or ended more than `answerDays` ago. A
  // refusal does not replace another answer.
  private static let addAnswers = Statement(
    name: "add_answers",
    sql: """
      insert into ask_answer (ask, host, outcome)
      select i.ask, i.host, i.outcome from unnest($2::bigint[], $3::int[], $4::text[]) i (ask, host, outcome)
      join ask a on a.id = i.ask and a.tenant = $1::int
        and coalesce(a.withdrawn, a.expires) > now() - interval '\(FleetStore.answerDays) days'
      order by i.ask, i.host
      on conflict (ask, host) do update set outcome = excluded.outcome, answered = now()
      where ask_answer.outcome <> excluded.outcome and excluded.outcome <> 'refused'
      """)

  // The column `previous` keeps the group before the update, because RETURNING has only new values.
  private static let addReports = Statement(
    name: "add_reports",
    sql: """
      insert into report (
        tenant, id, day, revision, alias, host, build, time, signal, cause, unit, release, environment, route, body)
      select $1::int, id, date '1970-01-01' + day::int, revision, alias, host, build,
        timestamptz 'epoch' + time * interval '1 microsecond', signal, cause, unit, release, environment, route, body
      from unnest(
        $2::uuid[], $3::bigint[], $4::bigint[], $5::int[], $6::int[], $7::int[], $8::bigint[], $9::text[], $10::text[],
        $11::text[], $12::text[], $13::text[], $14::text[], $15::bytea[])
        i (id, day, revision, alias, host, build, time, signal, cause, unit, release, environment, route, body)
      order by id
      on conflict (tenant, id, day) do update set
        revision = excluded.revision, previous = report.alias, alias = excluded.alias, signal = excluded.signal,
        cause = excluded.cause, unit = excluded.unit, release = excluded.release, environment = excluded.environment,
        route = excluded.route, body = excluded.body, received = now()
      where report.revision < excluded.revision
      returning id, previous, host, build, floor(extract(epoch from time) / 3600)::bigint
      """)

  // Compares the host's clock with now(), the start of the transaction, which is soon after the batch arrived.
  private static let setHost = Statement(
    name: "set_host",
    sql: """
      update host set last_seen = now(), name = $2::text, clock_ahead_ms = coalesce(
        $3::bigint / 1000 - (extract(epoch from now()) * 1000)::bigint, clock_ahead_ms)
      where id = $1::int
      """)

  private static let setPosition = Statement(
    name: "set_position",
    sql: """
      insert into host_cursor (host, stream, position) values ($1::int, $2::text, $3::text)
      on conflict (host, stream) do update set position = excluded.position, moved = now()
      """)
}

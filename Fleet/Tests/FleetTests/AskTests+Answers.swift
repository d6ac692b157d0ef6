import Testing

@testable import FleetStore

// The answers of hosts to asks: which of them count, and how long the fleet keeps them.
extension AskTests {
  @Test("each host answers an ask once, with the batch that contains the report")
  func answers() async throws {
    let (test, ask) = try await asked()
    for host in [7, 8, 7] as [UInt128] {
      #expect(try await test.ingest([Sample.report(9, host: host), answer(ask, host: host)]).last == .counted)
    }
    // A batch can consist of answers.
    #expect(try await test.ingest([answer(ask, host: 9), answer(ask, host: 9)]) == [.counted, .counted])
    #expect(try await test.store.asks(tenant: test.tenant).first?.answers == ["sent": 3])
    #expect(try await test.store.answeredAsks(tenant: test.tenant, machine: 8) == [ask])
    #expect(try await test.store.answeredAsks(tenant: test.tenant, machine: 5) == [])
    #expect(try await test.store.withdraw(ask: ask, tenant: test.tenant))
    #expect(try await test.store.answeredAsks(tenant: test.tenant, machine: 8) == [])
  }

  @Test("a refusal does not replace another answer of the host, neither in its batch nor in a later one")
  func lateRefusal() async throws {
    let (test, ask) = try await asked()
    _ = try await test.ingest([answer(ask, host: 7, .sent), answer(ask, host: 8, .refused)])
    _ = try await test.ingest([answer(ask, host: 7, .refused), answer(ask, host: 8, .sent)])
    _ = try await test.ingest([answer(ask, host: 9, .sent), answer(ask, host: 9, .refused)])
    #expect(try await test.store.asks(tenant: test.tenant).first?.answers == ["sent": 3])
  }

  @Test("an answer counts until a week after the end of its ask, and retention then removes both")
  func retention() async throws {
    let (test, old) = try await asked()
    let store = test.store
    let withdrawn = try #require(try await store.askForReport(issue: 1, tenant: test.tenant, days: 90))
    let recent = try #require(try await store.askForReport(issue: 1, tenant: test.tenant, days: 7))
    func end(daysAgo days: Int) throws {
      _ = try test.query(
        """
        update ask set expires = now() - interval '\(days) days 1 minute' where id = \(old);
        update ask set withdrawn = now() - interval '\(days) days 1 minute' where id = \(withdrawn)
        """)
    }
    func answers(of host: UInt128) async throws -> String {
      _ = try await test.ingest([old, withdrawn, recent].map { answer($0, host: host) })
      return try test.query(
        """
        select string_agg(ask || ':' || hosts, ' ' order by ask)
        from (select ask, count(*) hosts from ask_answer group by ask) c
        """)
    }
    try end(daysAgo: 6)
    #expect(try await answers(of: 7) == "\(old):1 \(withdrawn):1 \(recent):1")
    try end(daysAgo: 7)
    #expect(try await answers(of: 8) == "\(old):1 \(withdrawn):1 \(recent):2")
    try await store.maintain()
    #expect(try await store.asks(tenant: test.tenant).count == 3)
    try end(daysAgo: Int(store.configuration.reportDays))
    try await store.maintain()
    #expect(try await store.asks(tenant: test.tenant).map(\.ask.id) == [recent])
    #expect(try await answers(of: 9) == "\(recent):3")
  }

  @Test("an answer needs the number of an ask, a known outcome and a host")
  func parsing() throws {
    func item(_ text: String) throws -> Result<IngestItem, IngestProblem> {
      try #require(try IngestParser().parse(Array(text.utf8)).first)
    }
    let host = "\"host\":{\"machine\":\"\(Sample.hex(7))\",\"name\":\"web-7\"}"
    #expect(try item("{\"answer\":{\"ask\":4,\"outcome\":\"sent\",\"x\":[1]},\(host)}").get() == answer(4))
    for (bad, code) in [
      ("{\"answer\":{\"ask\":0,\"outcome\":\"sent\"},\(host)}", IngestProblem.Code.invalid),
      ("{\"answer\":{\"ask\":1.5,\"outcome\":\"sent\"},\(host)}", .invalid),
      ("{\"answer\":{\"ask\":4,\"outcome\":\"eaten\"},\(host)}", .invalid),
      ("{\"answer\":{\"ask\":4},\(host)}", .invalid), ("{\"answer\":{\"ask\":4,\"outcome\":\"sent\"}}", .missing),
    ] {
      let problem = #expect(throws: IngestProblem.self) { try item(bad).get() }
      #expect(problem?.code == code)
    }
  }
}

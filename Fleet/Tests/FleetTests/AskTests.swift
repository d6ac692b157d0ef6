import Foundation
import Synchronization
import Testing

@testable import FleetServer
@testable import FleetStore

/// Tests asks (requests of operators to hosts), and the answers of the hosts.
@Suite("Asks")
struct AskTests {
  func answer(_ ask: Int64, host: UInt128 = 7, _ outcome: IncomingAnswer.Outcome = .sent) -> IngestItem {
    .answer(IncomingAnswer(host: IncomingHost(machine: host, name: "web-\(host)"), ask: ask, outcome: outcome))
  }

  /// A store with one issue, and an ask for its next report.
  func asked() async throws -> (test: TestStore, ask: Int64) {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1)])
    let ask = try await test.store.askForReport(issue: 1, tenant: test.tenant, days: 7)
    return (test, try #require(ask))
  }

  @Test("an ask contains the keys of its issue, until it is withdrawn or expires")
  func open() async throws {
    let (test, first) = try await asked()
    _ = try await test.ingest([Sample.report(2, group: "b2")])
    #expect(try await test.store.merge(issue: 2, into: 1, tenant: test.tenant))
    let second = try #require(try await test.store.askForReport(issue: 1, tenant: test.tenant, days: 1))
    let open = try await test.store.openAsks()
    #expect(open.keys.map { $0 } == [test.tenant])
    let subject = Ask.Subject.report(issue: 1, keys: ["a1", "b2"])
    #expect(
      open[test.tenant] == [
        Ask(id: first, program: "shop", subject: subject), Ask(id: second, program: "shop", subject: subject),
      ])
    #expect(try await test.store.withdraw(ask: first, tenant: test.tenant))
    _ = try test.query("update ask set expires = now() where id = \(second)")
    #expect(try await test.store.openAsks().isEmpty)
    #expect(try await !test.store.withdraw(ask: second, tenant: test.tenant))
    #expect(try await test.store.asks(tenant: test.tenant).map(\.state) == ["expired", "withdrawn"])
  }

  @Test("the newest four keys of an issue are asked for, without keys that have control characters")
  func keys() async throws {
    let (test, _) = try await asked()
    _ = try await test.ingest((2...12).map { Sample.report(UInt128($0), group: $0 == 12 ? "a\nb" : "k\($0 + 10)") })
    _ = try test.query("update alias set issue = 1")
    guard case .report(_, let keys)? = try await test.store.openAsks()[test.tenant]?.first?.subject else {
      Issue.record("no ask")
      return
    }
    #expect(keys == (18...21).map { "k\($0)" })
  }

  @Test("a tenant neither sees nor answers the asks of another one")
  func tenants() async throws {
    let (test, ask) = try await asked()
    _ = try await test.store.addToken(tenant: "other", name: "test")
    let other = try #require(try await test.store.tenant(named: "other"))
    #expect(try await test.store.askForReport(issue: 1, tenant: other, days: 7) == nil)
    #expect(try await test.store.asks(tenant: other).isEmpty)
    #expect(try await !test.store.withdraw(ask: ask, tenant: other))
    let strange = [answer(ask), answer(999)]
    #expect(try await test.store.ingest(strange, tenant: other, now_us: Sample.now_us) == [.counted, .counted])
    #expect(try test.query("select count(*) from ask_answer") == "0")
  }

  @Test("a tenant has at most eight open asks")
  func limit() async throws {
    let (test, first) = try await asked()
    for _ in 2...FleetStore.askLimit { _ = try await test.store.askForReport(issue: 1, tenant: test.tenant, days: 7) }
    await #expect(throws: AskProblem.tooMany) {
      try await test.store.askForReport(issue: 1, tenant: test.tenant, days: 7)
    }
    #expect(try await test.store.withdraw(ask: first, tenant: test.tenant))
    #expect(try await test.store.askForReport(issue: 1, tenant: test.tenant, days: 7) != nil)
  }

  @Test("many open asks of one tenant do not hide those of another one")
  func manyAsks() async throws {
    let (test, _) = try await asked()
    _ = try await test.store.addToken(tenant: "other", name: "test")
    let other = try #require(try await test.store.tenant(named: "other"))
    _ = try test.query(
      """
      insert into ask (tenant, program, class, expires)
      select \(test.tenant), 'shop', 'Shop.Cart', now() + interval '1 day' from generate_series(1, 10000)
      """)
    _ = try await test.store.askForProtection(program: "mail", className: "Mail.Box", tenant: other, days: 7)
    #expect(try await test.store.openAsks()[other]?.map(\.program) == ["mail"])
  }

  @Test("an ask for protection has a program and a class, and a refusal can change to another answer")
  func protection() async throws {
    let test = try await TestStore()
    let ask = try await test.store.askForProtection(
      program: "shop", className: "Shop.Cart", tenant: test.tenant, days: 7)
    #expect(
      try await test.store.openAsks()[test.tenant]
        == [Ask(id: ask, program: "shop", subject: .protection(className: "Shop.Cart"))])
    _ = try await test.ingest([answer(ask, host: 7, .refused), answer(ask, host: 8, .refused)])
    #expect(try await test.store.answeredAsks(tenant: test.tenant, machine: 7) == [])
    _ = try await test.ingest([answer(ask, host: 7, .protected)])
    #expect(try await test.store.answeredAsks(tenant: test.tenant, machine: 7) == [ask])
    #expect(try await test.store.asks(tenant: test.tenant).first?.answers == ["protected": 1, "refused": 1])
  }

  @Test("the service sends the asks of a tenant with each answer, and the answered ones with the position")
  func service() async throws {
    let fleet = try await FleetProcess()
    _ = try await fleet.test.ingest([Sample.report(1)])
    let ask = try #require(try await fleet.test.store.askForReport(issue: 1, tenant: fleet.test.tenant, days: 7))
    let asks = ",\"asks\":[{\"id\":\(ask),\"report\":{\"program\":\"shop\",\"groups\":[\"a1\"]}}]}"
    #expect(try fleet.post(Sample.line(2)).body.contains(asks))
    _ = try await fleet.test.store.addToken(tenant: "other", name: "test")
    let other = try await fleet.test.store.addToken(tenant: "other", name: "test").text
    let stranger = try fleet.post(Sample.line(3), token: other).body
    #expect(stranger.contains("\"committed\":true") && !stranger.contains("asks"))
    let item = "{\"answer\":{\"ask\":\(ask),\"outcome\":\"sent\"},\"host\":{\"machine\":\"\(Sample.hex(7))\"}}"
    #expect(try fleet.post(item).status == 200)
    let position = try TestClient(port: fleet.port).request(
      "POST", "/v1/position?machine=\(Sample.hex(7))&stream=s", token: fleet.token)
    #expect(position.body.contains("{\"cursor\":null,\"answered\":[\(ask)]}"))
  }

  @Test("the command adds, lists and withdraws asks, and names what is wrong")
  func command() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1)])
    func run(_ arguments: String...) throws -> (status: Int32, output: String) {
      try FleetProcess.run(["ask"] + arguments + ["--tenant", "shop"], on: test.connection)
    }
    let added = try run("report", "1", "--days", "3")
    #expect(added.status == 0 && added.output == "1\n")
    _ = try await test.ingest([answer(1)])
    let list = try run().output
    #expect(list.hasPrefix("1  open  1 sent  until ") && list.hasSuffix(" UTC  shop  report of issue 1\n"))
    #expect(try run("withdraw", "1").status == 0)
    #expect(try run("list").output.hasPrefix("1  withdrawn  "))
    #expect(try run("report", "2").output == "crash-fleet: the tenant has no issue 2\n")
    #expect(try run("report", "1", "--days", "91").status == 2)
    #expect(try run("protect", "shop", "Shop.Cart").output == "2\n")
    #expect(try run().output.hasPrefix("2  open  no answers  until "))
    #expect(try run().output.contains(" UTC  shop  protection of Shop.Cart\n1  withdrawn  "))
    #expect(try run("protect", "shop", "A B").status == 2)
    #expect(try run("withdraw", "7").output.contains("no open ask 7; see 'crash-fleet ask list'"))
  }

  @Test("the answer to a batch with asks has at most 4 KiB, which is what a forwarder reads")
  func size() async throws {
    let long = (1...8).map { id in
      Ask(id: id, program: String(repeating: "\"", count: 256), subject: .report(issue: 1, keys: ["k"]))
    }
    let asks = try #require(await AskCache(find: { () throws(FleetError) in [1: long] }).asks(of: 1))
    #expect(asks.hasPrefix("[{\"id\":1,") && asks.hasSuffix("]}}]") && (1_000...2_048).contains(asks.utf8.count))
    let bad = IngestProblem(.invalid, String(repeating: "x", count: 120))
    let alone = FleetReply([.success(answer(1))], [.counted], asks: asks).json
    #expect(alone.hasSuffix(",\"asks\":\(asks)}\n") && alone.utf8.count <= FleetReply.limitBytes)
    let refusals = FleetReply((0..<10_000).map { _ in .failure(bad) }, [], asks: asks).json
    #expect(!refusals.contains("asks") && refusals.utf8.count <= FleetReply.limitBytes)
  }

  @Test("requests at once ask the database once, and a failure keeps the earlier asks")
  func cache() async throws {
    let clock = TestClock()
    let calls = Mutex(0)
    let ask = Ask(id: 3, program: "a\"b", subject: .report(issue: 1, keys: ["k"]))
    let cache = AskCache(now: { clock.now }) { () throws(FleetError) in
      let number = calls.withLock { count in
        count += 1
        return count
      }
      if number == 2 { throw .busy(limit: 1) }
      let protection = Ask(id: 4, program: "p", subject: .protection(className: "A"))
      return number == 1 ? [5: [ask], 6: [protection]] : [:]
    }
    let expected = #"[{"id":3,"report":{"program":"a\"b","groups":["k"]}}]"#
    #expect(await cache.asks(of: 5) == expected)
    await withTaskGroup(of: String?.self) { group in
      for _ in 0..<50 { group.addTask { await cache.asks(of: 5) } }
      for await asks in group { #expect(asks == expected) }
    }
    #expect(await cache.asks(of: 6) == #"[{"id":4,"protect":{"program":"p","class":"A"}}]"#)
    #expect(await cache.asks(of: 7) == nil)
    #expect(calls.withLock { $0 } == 1)
    clock.advance(.seconds(5))
    #expect(await cache.asks(of: 5) == expected)
    #expect(await cache.asks(of: 5) == expected)
    #expect(calls.withLock { $0 } == 2)
    clock.advance(.seconds(5))
    #expect(await cache.asks(of: 5) == nil)
  }
}

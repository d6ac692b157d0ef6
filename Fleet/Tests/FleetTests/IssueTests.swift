import FleetStore
import Testing

@Suite("Issues")
struct IssueTests {
  private func state(_ test: TestStore) async throws -> String? {
    try await test.store.issues(tenant: test.tenant).first?.state
  }

  @Test("a resolved issue is regressed only by a build that the fleet first saw after its resolution")
  func regressed() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, build: "b1"), Sample.report(2, group: "other", build: "b2")])
    let issues = try await test.store.issues(tenant: test.tenant)
    let issue = try #require(issues.first { $0.title == "title of a1" }).id
    #expect(try await test.store.change(issue: issue, tenant: test.tenant, .resolve))
    // Some hosts still run the older builds, which crash.
    _ = try await test.ingest([Sample.report(3, build: "b1"), Sample.report(4, build: "b2")])
    #expect(try await state(test) == "resolved")
    _ = try await test.ingest([Sample.report(5, build: "b3")])
    #expect(try await state(test) == "regressed")
    #expect(try test.query("select regressed is not null from issue where id = \(issue)") == "t")
  }

  @Test("a muted issue counts and stays muted; a new one is new until an operator opens it")
  func muted() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1)])
    #expect(try await state(test) == "new")
    let issue = try #require(try await test.store.issues(tenant: test.tenant).first).id
    #expect(try await test.store.change(issue: issue, tenant: test.tenant, .mute))
    _ = try await test.ingest([Sample.report(2, build: "b9")])
    #expect(try await test.store.issues(tenant: test.tenant).map(\.crashes) == [2])
    #expect(try await state(test) == "muted")
    #expect(try await test.store.change(issue: issue, tenant: test.tenant, .open))
    #expect(try await state(test) == "open")
  }

  @Test("an issue of another tenant cannot be changed, merged or split")
  func strangers() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1), Sample.report(2, group: "g2")])
    let issues = try await test.store.issues(tenant: test.tenant).map(\.id)
    let stranger = test.tenant + 1
    #expect(try await !test.store.change(issue: issues[0], tenant: stranger, .resolve))
    #expect(try await !test.store.merge(issue: issues[0], into: issues[1], tenant: stranger))
    #expect(try await test.store.split(key: "a1", from: issues[0], tenant: stranger) == nil)
  }

  @Test("merged issues count together, also later crashes, and can be split again")
  func mergeAndSplit() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([
      Sample.report(1, group: "g1", host: 1), Sample.report(2, group: "g2", host: 1),
      Sample.report(3, group: "g2", host: 2),
    ])
    let issues = try await test.store.issues(tenant: test.tenant)
    let first = try #require(issues.first { $0.title == "title of g1" }).id
    let second = try #require(issues.first { $0.title == "title of g2" }).id
    #expect(try await test.store.merge(issue: second, into: first, tenant: test.tenant))
    _ = try await test.ingest([Sample.report(4, group: "g2", host: 3)])
    var merged = try await test.store.issues(tenant: test.tenant)
    #expect(merged.map(\.id) == [first] && merged.map(\.crashes) == [4] && merged.map(\.hosts) == [3])
    let third = try #require(try await test.store.split(key: "g2", from: first, tenant: test.tenant))
    merged = try await test.store.issues(tenant: test.tenant).sorted { $0.id < $1.id }
    #expect(merged.map(\.id) == [first, third] && merged.map(\.crashes) == [1, 3])
    // An issue must keep at least one group, so its last group cannot be split off.
    #expect(try await test.store.split(key: "g2", from: third, tenant: test.tenant) == nil)
  }

  @Test("programs with equal keys of groups have different issues")
  func programs() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, program: "shop"), Sample.report(2, program: "mail")])
    let issues = try await test.store.issues(tenant: test.tenant)
    #expect(issues.map(\.program).sorted() == ["mail", "shop"])
    #expect(try await !test.store.merge(issue: issues[0].id, into: issues[1].id, tenant: test.tenant))
  }
}

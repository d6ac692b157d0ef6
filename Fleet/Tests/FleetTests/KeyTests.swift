import FleetStore
import Testing

/// Tests groups whose keys crashd computed by several versions of its rules.
@Suite("Keys of several versions")
struct KeyTests {
  private func body(_ exact: String) -> String { "{\"group\":{\"exact\":\"\(exact)\"}}" }

  private func report(
    _ id: UInt128, _ group: String, _ version: Int32, exact: String = "e1", build: String = "b1", revision: Int64 = 1,
    host: UInt128 = 7
  ) -> IngestItem {
    Sample.report(
      id, group: group, revision: revision, host: host, build: build, version: version, body: body(exact))
  }

  /// Searches once, and returns each moved group as `key:issue it left>issue it joined`.
  private func join(_ store: FleetStore) async throws -> (moves: [String], ambiguous: Int) {
    var moves: [String] = []
    let ambiguous = try await store.joinKeys { moves.append("\($0.key):\($0.left)>\($0.joined)") }
    return (moves, ambiguous)
  }

  private func joins(_ test: TestStore) async throws -> [String] {
    // Examine all groups, independent of the time since the last search.
    _ = try test.query("update alias set examined = null")
    return try await join(test.store).moves
  }

  private func issues(_ test: TestStore) async throws -> [FleetStore.Issue] {
    try await test.store.issues(tenant: test.tenant).sorted { $0.id < $1.id }
  }

  @Test("a new key of crashes in the same build joins the issue of their old key, which keeps its state and counts")
  func sameBuild() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "old", 2, host: 1), Sample.count(4, group: "old")])
    #expect(try await test.store.change(issue: 1, tenant: test.tenant, .resolve))
    _ = try await test.ingest([report(2, "new", 3, host: 2), report(3, "other", 3, exact: "e9")])
    #expect(try await joins(test) == ["new:2>1"])
    let found = try await issues(test)
    #expect(found.map(\.id) == [1, 3] && found.map(\.crashes) == [6, 1] && found.map(\.hosts) == [3, 1])
    #expect(found.map(\.state) == ["resolved", "new"])
    #expect(try await joins(test) == [])
    // Further crashes under each key belong to the same issue.
    _ = try await test.ingest([report(4, "new", 3), report(5, "old", 2), Sample.count(9, group: "old")])
    #expect(try await issues(test).map(\.crashes) == [13, 1])
    #expect(Set(try test.sums()).count == 1)
  }

  @Test("after crashd analyzes a report again, the new key joins the issue of the previous key")
  func analyzedAgain() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "old", 2, exact: "e1"), report(2, "old", 2, exact: "e2")])
    _ = try await test.ingest([report(1, "new", 3, exact: "e7", revision: 2)])
    #expect(try await joins(test) == ["new:2>1"])
    #expect(try await issues(test).map(\.crashes) == [2])
    #expect(Set(try test.sums()).count == 1)
  }

  @Test("an old key that the fleet sees after the new key joins the issue of the new key")
  func olderKeyLater() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "new", 3, host: 1)])
    _ = try await test.ingest([report(2, "old", 2, host: 2), report(3, "new", 3, host: 3)])
    #expect(try await joins(test) == ["old:2>1"])
    #expect(try await issues(test).map(\.crashes) == [3])
  }

  @Test("after crashd analyzes a report again, its previous key joins an earlier issue of its new key")
  func previousKeyLater() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "new", 3, exact: "e1", host: 1)])
    _ = try await test.ingest([report(2, "old", 2, exact: "e2", host: 2)])
    _ = try await test.ingest([report(2, "new", 3, exact: "e3", revision: 2, host: 2)])
    #expect(try await joins(test) == ["old:2>1"])
    _ = try await test.ingest([report(3, "old", 2, exact: "e2", host: 3)])
    #expect(try await issues(test).map(\.crashes) == [3])
  }

  @Test(
    "keys stay in their issues if they have one version, if no build has an exact key of both, or if a body is no JSON",
    arguments: [
      Sample.report(2, group: "new", version: 2, body: "{\"group\":{\"exact\":\"e1\"}}"),
      Sample.report(2, group: "new", version: 3, body: "{\"group\":{\"exact\":\"e2\"}}"),
      Sample.report(2, group: "new", build: "b2", version: 3, body: "{\"group\":{\"exact\":\"e1\"}}"),
      Sample.report(2, group: "new", program: "mail", version: 3, body: "{\"group\":{\"exact\":\"e1\"}}"),
      Sample.report(2, group: "new", version: 3, body: "{\"group\":{}}"),
      // PostgreSQL does not accept these bodies as JSON.
      Sample.report(2, group: "new", version: 3, body: "{\"group\":{\"exact\":\"e1\\u0000\"}}"),
      Sample.report(2, group: "new", version: 3, body: "{\"group\":"),
      Sample.report(2, group: "new", version: 3, body: String(repeating: "[", count: 100_000)),
    ])
  func differentCrashes(_ other: IngestItem) async throws {
    let test = try await TestStore()
    // The group 'more' has a newer version, so the search does not skip the program.
    _ = try await test.ingest([report(1, "old", 2), report(9, "more", 4, exact: "e9"), other])
    #expect(try await joins(test) == [])
    #expect(try await issues(test).map(\.crashes) == [1, 1, 1])
  }

  @Test("keys of a program without a build id stay in their issues")
  func noBuildID() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "old", 2, build: ""), report(2, "new", 3, build: "")])
    #expect(try await joins(test) == [])
  }

  @Test("a group that an operator split off stays in its issue, and so do groups of open and muted issues")
  func operators() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "old", 2)])
    _ = try await test.ingest([report(2, "new", 3)])
    #expect(try await joins(test) == ["new:2>1"])
    let split = try #require(try await test.store.split(key: "new", from: 1, tenant: test.tenant))
    _ = try await test.ingest([report(3, "new", 3), report(4, "old", 2)])
    #expect(try await joins(test) == [])
    #expect(try await issues(test).map(\.id) == [1, split])
    // Issue 1 is new, and contains only the group that stayed.
    _ = try await test.ingest([report(5, "later", 4, exact: "e5"), report(6, "latest", 5, exact: "e5")])
    let later = try #require(try await issues(test).first { $0.title == "title of latest" }).id
    #expect(try await test.store.change(issue: later, tenant: test.tenant, .open))
    let earlier = try #require(try await issues(test).first { $0.title == "title of later" }).id
    #expect(try await test.store.change(issue: earlier, tenant: test.tenant, .mute))
    #expect(try await joins(test) == [])
  }

  @Test("a group of a merged issue stays there, and another group can join it")
  func merged() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "old", 2)])
    _ = try await test.ingest([report(2, "mine", 3, exact: "e2")])
    _ = try await test.ingest([report(3, "new", 3)])
    #expect(try await test.store.merge(issue: 3, into: 2, tenant: test.tenant))
    // The old group is alone in a new issue, and joins the issue into which its new key was merged.
    #expect(try await joins(test) == ["old:1>2"])
    #expect(try await joins(test) == [])
    #expect(try await issues(test).map(\.crashes) == [3])
  }

  @Test("a key that matches two issues moves to neither, and is counted")
  func ambiguous() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "a", 2, exact: "e1"), report(2, "b", 2, exact: "e2")])
    _ = try await test.ingest([report(3, "ab", 3, exact: "e1"), report(4, "ab", 3, exact: "e2")])
    let result = try await join(test.store)
    #expect(result.ambiguous == 1)
    // The older groups do not move either: each matches only the group of the new key, and this group has the later
    // issue.
    #expect(result.moves == [])
    #expect(try await issues(test).map(\.crashes) == [1, 1, 2])
  }

  @Test("a resolved issue is regressed when the group that joins it has crashed in a later build")
  func regressed() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "old", 2)])
    #expect(try await test.store.change(issue: 1, tenant: test.tenant, .resolve))
    _ = try await test.ingest([report(2, "new", 3), report(3, "new", 3, exact: "e3", build: "b2")])
    #expect(try await joins(test) == ["new:2>1"])
    #expect(try await issues(test).map(\.state) == ["regressed"])
  }

  @Test("two services that search at once, while hosts send, move each group once and lose no crash")
  func concurrent() async throws {
    let test = try await TestStore(connections: 4)
    let second = FleetStore(test.store.configuration)
    let keys = 0..<12
    _ = try await test.ingest(keys.map { report(UInt128($0), "old\($0)", 2, exact: "e\($0)") })
    _ = try await test.ingest(keys.map { report(UInt128(100 + $0), "new\($0)", 3, exact: "e\($0)") })
    async let sent: Void = {
      for round in 1...10 {
        _ = try await test.ingest(
          keys.map { report(UInt128(1_000 * round + $0), "new\($0)", 3, exact: "e\($0)", host: UInt128(round)) }
            + keys.map { Sample.count(Int64(round), group: "old\($0)") })
      }
    }()
    async let first = join(test.store)
    async let other = join(second)
    var moves = try await first.moves + other.moves
    try await sent
    moves += try await joins(test)
    #expect(moves.count == keys.count && Set(moves).count == keys.count)
    let found = try await issues(test)
    #expect(found.count == keys.count && found.allSatisfy { $0.crashes == 22 })
    #expect(Set(try test.sums()).count == 1)
    await second.close()
  }

  @Test("a group is examined again in a new build or at a greater age, if its program has keys of several versions")
  func pace() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([report(1, "a", 3), report(2, "b", 3, exact: "e2")])
    _ = try await join(test.store)
    #expect(try test.query("select count(examined) from alias") == "0")
    _ = try await test.ingest([report(3, "old", 2, exact: "e3")])
    _ = try await join(test.store)
    #expect(try test.query("select count(examined) from alias") == "3")
    let ages = "update alias set created = now() - interval '8 days', examined = now() - interval"
    _ = try test.query("\(ages) '1 day'")
    let before = try test.query("select min(examined) from alias")
    _ = try await join(test.store)
    #expect(try test.query("select min(examined) from alias") == before)
    _ = try await test.ingest([report(4, "b", 3, exact: "e2", build: "b2")])
    _ = try await join(test.store)
    #expect(try test.query("select key from alias where examined > now() - interval '1 hour'") == "b")
    _ = try test.query("\(ages) '2 days'")
    _ = try await join(test.store)
    #expect(try test.query("select min(examined) > now() - interval '1 hour' from alias") == "t")
  }
}

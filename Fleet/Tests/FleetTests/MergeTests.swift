import FleetStore
import Foundation
import Testing

/// Tests changes of issues by an operator while hosts send batches.
@Suite("Merging during ingest")
struct MergeTests {
  /// Waits until a number of calls wait for a lock of the database.
  private func wait(forWaiting count: Int, _ test: TestStore) async throws {
    let sql = "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
    try await TestPostgres.wait(for: "a wait of \(count) calls for a lock") { Int(try test.query(sql)) == count }
  }

  @Test("crashes that arrive during a merge are added to the issue that receives the groups")
  func merge() async throws {
    let test = try await TestStore()
    _ = try await test.ingest([Sample.report(1, group: "a1"), Sample.report(2, group: "b2")])
    let issues = try await test.store.issues(tenant: test.tenant)
    let old = try #require(issues.first { $0.title == "title of a1" }).id
    let new = try #require(issues.first { $0.title == "title of b2" }).id
    // A transaction of the test holds the row of the old issue, until its standard input ends.
    let holder = try TestPostgres.session(test.connection, "begin; select from issue where id = \(old) for update;")
    async let merged = test.store.merge(issue: old, into: new, tenant: test.tenant)
    try await wait(forWaiting: 1, test)
    async let stored = test.ingest([Sample.report(3, group: "a1"), Sample.count(5, group: "a1")])
    try await wait(forWaiting: 2, test)
    try holder.end()
    let (isMerged, outcomes) = (try await merged, try await stored)
    #expect(isMerged && outcomes == [.stored, .counted])
    #expect(try test.query("select crashes from issue where id = \(old)") == "0")
    #expect(try test.query("select crashes from issue where id = \(new)") == "8")
    #expect(Set(try test.sums()).count == 1)
  }
}

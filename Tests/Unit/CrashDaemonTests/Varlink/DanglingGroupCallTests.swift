import CrashProtocol
import CrashStore
import FoundationEssentials
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Groups of use-after-free incidents in replies to clients")
struct DanglingGroupCallTests {
  private static let method = "io.crashshield.Crashd.DanglingGroups"

  private static func groups(
    _ client: TestClient, _ parameters: [String: JSONValue] = [:]
  ) async throws -> [DanglingGroup] {
    let reply = try await client.call(method, parameters)
    return try JSONDecoder().decode(
      Methods.DanglingGroups.Reply.self, from: JSONEncoder().encode(JSONValue.object(reply))
    ).groups
  }

  @Test("2,500 use-after-free groups are returned completely, in pages of at most 1,000")
  func many() async throws {
    try await TestDaemon.run { daemon in
      let sites = ManySites()
      try daemon.store.put(incidents: sites.incidents)
      let client = try await daemon.client()
      var groups: [DanglingGroup] = []
      for expected in [1_000, 1_000, 500, 0] {
        let page = try await Self.groups(client, ["offset": .int(groups.count), "limit": .int(5_000)])
        #expect(page.count == expected)
        groups += page
      }
      sites.expect(groups)
      #expect(try await Self.groups(client).count == 100)
      #expect(try await Self.groups(client, ["name": .string("till")]).isEmpty)
      let last = try #require(groups.first)
      #expect(try await Self.groups(client, ["since": .string(last.last)]).map(\.id) == [last.id])
    }
  }

  @Test("DanglingGroups refuses unknown parameters")
  func refused() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      let wrong: [String: JSONValue] = [
        "limit": .int(-1), "offset": .int(-1), "since": .string("never"), "kind": .string("call"),
      ]
      for (name, value) in wrong {
        #expect(try await client.call(Self.method, [name: value]) == ["parameter": .string(name)])
      }
    }
  }
}

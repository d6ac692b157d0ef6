import CrashProtocol
import CrashReport
import CrashStore
import Testing

@testable import CrashDaemon

@Suite("Get with scrubbing")
struct ScrubbedReportTests {
  private static let get = "io.crashshield.Crashd.Get"

  @Test("a scrubbed report lacks everything that the privacy rules name, and is otherwise unchanged")
  func rules() async throws {
    try await TestDaemon.run(configure: { $0.settings.privacy.annotations = ["room"] }) { daemon in
      var report = try CrashReport.sample(id: "aa11")
      report.annotations = ["Room": "17", "password": "kept by these rules", "mail": "to anna@example.org"]
      _ = try daemon.store.put(report, raw: [1])
      let client = try await daemon.client()
      let stored = try await client.call(Self.get, ["id": .string("aa")]).object("report").object("annotations")
      #expect(stored.string("Room") == "17" && stored.string("mail") == "to anna@example.org")
      let scrubbed = try await client.call(Self.get, ["id": .string("aa"), "scrub": .bool(true)]).object("report")
      #expect(scrubbed.string("id") == "aa11")
      let annotations = scrubbed.object("annotations")
      #expect(annotations.string("Room") == "[scrubbed]" && annotations.string("mail") == "to [scrubbed]")
      #expect(annotations.string("password") == "kept by these rules")
    }
  }

  @Test("a scrubbed report cannot be requested with raw records or stacks", arguments: ["raw", "stacks"])
  func memory(parameter: String) async throws {
    try await TestDaemon.run { daemon in
      _ = try daemon.store.put(.sample(id: "aa11"), raw: [1])
      let client = try await daemon.client()
      try await client.send(Self.get, ["scrub": .bool(true), parameter: .bool(true)])
      let reply = try await client.reply()
      #expect(reply.string("error") == "org.varlink.service.InvalidParameter")
      #expect(reply.object("parameters").string("parameter") == parameter)
    }
  }
}

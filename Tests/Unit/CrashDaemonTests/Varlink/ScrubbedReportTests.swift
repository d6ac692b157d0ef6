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

  @Test("requests are scrubbed as annotations are, and keep their trace")
  func requests() async throws {
    let trace = String(repeating: "12", count: 16)
    try await TestDaemon.run(configure: {
      $0.settings.privacy.annotations = ["room"]
      $0.settings.privacy.patterns += ["[0-9]{12}"]
    }) { daemon in
      var report = try CrashReport.sample(id: "aa11")
      let request = CrashReport.Request(
        number: 1, operation: "GET /anna@example.org", id: "of anna@example.org", traceID: trace,
        startTime: report.time, age_ns: 1, tags: ["Room": "17", "mail": "anna@example.org"])
      report.threads[0].request = request
      report.inFlight = CrashReport.InFlight(total: 1, overflow: 0, requests: [request])
      _ = try daemon.store.put(report, raw: [1])
      let client = try await daemon.client()
      let scrubbed = try await client.call(Self.get, ["id": .string("aa"), "scrub": .bool(true)]).object("report")
      guard case .array(let threads)? = scrubbed["threads"], case .object(let thread)? = threads.first,
        case .array(let list)? = scrubbed.object("inFlight")["requests"], case .object(let inFlight)? = list.first
      else {
        Issue.record("the report has no requests")
        return
      }
      for request in [thread.object("request"), inFlight] {
        #expect(request.string("operation") == "GET /[scrubbed]" && request.string("id") == "of [scrubbed]")
        #expect(request.string("traceID") == trace)
        #expect(request.object("tags").string("Room") == "[scrubbed]")
        #expect(request.object("tags").string("mail") == "[scrubbed]")
      }
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

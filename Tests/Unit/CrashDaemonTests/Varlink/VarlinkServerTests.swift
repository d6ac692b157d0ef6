import CrashProtocol
import CrashStore
import Glibc
import Testing

@testable import CrashDaemon

@Suite("The Varlink socket")
struct VarlinkServerTests {
  @Test("GetInfo returns the service's name, and GetInterfaceDescription the text of each interface")
  func introspection() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      let info = try await client.call("org.varlink.service.GetInfo")
      #expect(info.array("interfaces") == [.string("org.varlink.service"), .string("io.crashshield.Crashd")])
      #expect(info.string("version") == ProductVersion.number)
      for interface in ["org.varlink.service", "io.crashshield.Crashd"] {
        let reply = try await client.call(
          "org.varlink.service.GetInterfaceDescription", ["interface": .string(interface)])
        #expect(try #require(reply.string("description")).contains("interface \(interface)\n"))
      }
    }
  }

  struct Wrong: Sendable, CustomTestStringConvertible {
    var method: String
    var parameters: [String: JSONValue] = [:]
    var error: String
    var testDescription: String { "\(method) \(parameters)" }
  }

  static let own = "io.crashshield.Crashd"
  static let wrong: [Wrong] = [
    Wrong(method: "List", error: "org.varlink.service.InterfaceNotFound"),
    Wrong(method: "", error: "org.varlink.service.InterfaceNotFound"),
    Wrong(method: "com.example.List", error: "org.varlink.service.InterfaceNotFound"),
    Wrong(method: "\(own).Explode", error: "org.varlink.service.MethodNotFound"),
    Wrong(method: "org.varlink.service.Explode", error: "org.varlink.service.MethodNotFound"),
    Wrong(
      method: "org.varlink.service.GetInterfaceDescription", error: "org.varlink.service.InvalidParameter"),
    Wrong(
      method: "org.varlink.service.GetInterfaceDescription", parameters: ["interface": .string("x.y")],
      error: "org.varlink.service.InterfaceNotFound"),
    Wrong(method: "\(own).List", parameters: ["limit": .int(-1)], error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).List", parameters: ["limit": .string("1")], error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).List", parameters: ["limt": .int(1)], error: "org.varlink.service.InvalidParameter"),
    Wrong(
      method: "\(own).List", parameters: ["since": .string("yesterday")], error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).List", parameters: ["before": .string("x")], error: "\(own).InvalidCursor"),
    Wrong(method: "\(own).Groups", parameters: ["before": .string("x")], error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).ResolveGroup", error: "org.varlink.service.InvalidParameter"),
    Wrong(
      method: "\(own).ResolveGroup", parameters: ["key": .string("ab"), "resolved": .bool(true)],
      error: "\(own).NoSuchGroup"),
    Wrong(method: "\(own).Get", error: "\(own).NoSuchReport"),
    Wrong(method: "\(own).Get", parameters: ["id": .string("ff")], error: "\(own).NoSuchReport"),
    Wrong(method: "\(own).Get", parameters: ["raw": .int(1)], error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).AwaitProcess", error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).AwaitProcess", parameters: ["pid": .int(0)], error: "org.varlink.service.InvalidParameter"),
    Wrong(
      method: "\(own).GuardSet", parameters: ["kind": .string("indx"), "mode": .string("off")],
      error: "org.varlink.service.InvalidParameter"),
    Wrong(
      method: "\(own).GuardSet", parameters: ["kind": .string("index"), "mode": .string("on")],
      error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).GuardSet", error: "org.varlink.service.InvalidParameter"),
    Wrong(
      method: "\(own).GuardSet", parameters: ["mode": .string("off"), "name": .string("")],
      error: "org.varlink.service.InvalidParameter"),
    Wrong(method: "\(own).GuardSet", parameters: ["mode": .string("off")], error: "\(own).NoSuchService"),
    Wrong(method: "\(own).Subscribe", error: "org.varlink.service.ExpectedMore"),
  ]

  @Test("a wrong call gets a typed error, and the connection stays open", arguments: wrong)
  func errors(_ wrong: Wrong) async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      try await client.send(wrong.method, wrong.parameters)
      #expect(try await client.reply().string("error") == wrong.error)
      #expect(try await client.call("io.crashshield.Crashd.Status").int("reports") == 0)
    }
  }

  @Test(
    "a message that is not a call ends its connection, is logged, and affects no other client",
    arguments: ["hello", "{}", "[]", #"{"method":1}"#, #"{"method":"a.b""#, "", "\u{1}"])
  func garbage(text: String) async throws {
    try await TestDaemon.run { daemon in
      let other = try await daemon.client()
      let client = try await daemon.client()
      try await client.send(Array(text.utf8) + [0])
      #expect(try await client.reply().isEmpty)
      #expect(try await other.call("io.crashshield.Crashd.Status").object("refusals")["call"] == .int(1))
      #expect(daemon.log.contains("refused call from pid \(getpid())"))
    }
  }

  @Test("deeply nested JSON ends only the connection on which it arrived")
  func nesting() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      try await client.send([UInt8](repeating: UInt8(ascii: "["), count: 100_000) + [0])
      #expect(try await client.reply().isEmpty)
      #expect(try await daemon.refusals()["call"] == .int(1))
    }
  }

  @Test("a message above the size limit ends the connection of its client")
  func tooLong() async throws {
    var limits = Limits()
    limits.messageBytes = 1_000
    try await TestDaemon.run(limits: limits) { daemon in
      let client = try await daemon.client()
      try await client.send([UInt8](repeating: UInt8(ascii: " "), count: 1_002))
      #expect(try await client.reply().isEmpty)
      #expect(daemon.log.contains("longer than 1000 bytes"))
    }
  }

  @Test("pipelined calls are answered in order, and oneway calls get no answer")
  func pipelining() async throws {
    try await TestDaemon.run { daemon in
      let client = try await daemon.client()
      try await client.send("org.varlink.service.GetInfo", oneway: true)
      try await client.send("io.crashshield.Crashd.Processes")
      try await client.send("io.crashshield.Crashd.List")
      #expect(try await client.reply().object("parameters")["processes"] == .array([]))
      #expect(try await client.reply().object("parameters")["reports"] == .array([]))
    }
  }

  @Test("AwaitProcess reports a process that never attached as finished and not attached")
  func unknownProcess() async throws {
    try await TestDaemon.run { daemon in
      let progress = try await daemon.client().call("io.crashshield.Crashd.AwaitProcess", ["pid": .int(1)])
      #expect(progress == ["attached": .bool(false), "settled": .bool(true), "reports": .array([])])
    }
  }

  @Test("Get returns the raw record with a report if the call requests the record")
  func raw() async throws {
    try await TestDaemon.run { daemon in
      _ = try daemon.store.put(.sample(id: "ab"), raw: Array("raw".utf8))
      let client = try await daemon.client()
      #expect(try await client.call("io.crashshield.Crashd.Get", ["raw": .bool(true)]).string("raw") == "cmF3")
      #expect(try await client.call("io.crashshield.Crashd.Get")["raw"] == nil)
    }
  }

  @Test("a connection above the total limit is refused with an error that states the limit")
  func connectionLimit() async throws {
    var limits = Limits()
    limits.connections = 2
    try await TestDaemon.run(limits: limits) { daemon in
      let first = try await daemon.client()
      _ = try await first.call("io.crashshield.Crashd.Status")
      var refused = 0
      // This array keeps the clients connected.
      var clients: [TestClient] = []
      for _ in 0..<3 {
        let client = try await daemon.client()
        clients.append(client)
        // On a refused connection, crashd sends the error without a call. An error of `send` is ignored, because crashd
        // can already have closed the connection.
        try? await client.send("io.crashshield.Crashd.Status")
        if try await client.reply().string("error") == "io.crashshield.Crashd.TooManyClients" { refused += 1 }
      }
      #expect(refused >= 1)
      #expect(daemon.log.contains("too many connections"))
    }
  }
}

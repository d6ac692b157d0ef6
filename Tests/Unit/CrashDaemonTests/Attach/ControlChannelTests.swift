import CShimRing
import CrashProtocol
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The control channel of crashd")
struct ControlChannelTests {
  /// Reads a control message: its kind, number and payload.
  private static func message(_ bytes: [UInt8]) -> (kind: UInt32, number: UInt32, payload: [UInt8])? {
    guard bytes.count >= MemoryLayout<cs_control_header>.size else { return nil }
    // Invariant: the message has at least as many bytes as the structure, in which every bit pattern is valid.
    let header = unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(as: cs_control_header.self) }
    return (header.kind, header.number, Array(bytes.dropFirst(MemoryLayout<cs_control_header>.size)))
  }

  private static func answer(_ number: UInt32, result: UInt32 = 0) -> [UInt8] {
    let answer = cs_control_answer(
      magic: 0x0052_5753_4e41_5343, version: CS_CONTROL_VERSION, number: number, result: result, count: 1)
    return unsafe withUnsafeBytes(of: answer) { unsafe Array($0) }
  }

  private static func receive(_ process: TestProcess) async throws -> (kind: UInt32, number: UInt32, payload: [UInt8]) {
    let socket = process.socket
    return try #require(message(try await onThread { try socket.receive() }))
  }

  private static let own = "io.crashshield.Crashd"

  @Test("a guard mode that only a later crashd defines is stored, and not sent to processes")
  func laterMode() throws {
    let stored = #"{"modes":{"index":"later","cast":"off"},"implicitModes":{}}"#
    let words = try JSONDecoder().decode(GuardWords.self, from: Data(stored.utf8))
    var bytes = [UInt8](repeating: 0, count: 64)
    bytes[9] = 1
    let message = words.message(round: 1)
    #expect(unsafe withUnsafeBytes(of: message.modes) { unsafe Array($0) } == bytes)
    #expect(String(decoding: try JSONEncoder().encode(words), as: UTF8.self).contains(#""index":"later""#))
  }

  @Test("a caller that waits for a process's answers waits at most for its own timeout", .timeLimit(.minutes(10)))
  func shortWait() async {
    let outcome = ControlOutcome()
    outcome.begin(nil)
    for _ in 0..<5_000 { await outcome.reached(nil, timeout_ms: 0) }
    #expect(!outcome.now.hasReached(nil))
  }

  @Test("answers to an earlier plan (the messages with a process's settings) are not counted for the current plan")
  func staleAnswers() throws {
    var ends: [Int32] = [-1, -1]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue)
    try #require(unsafe socketpair(AF_UNIX, type, 0, &ends) == 0)
    let socket = AttachSocket(descriptor: Descriptor(owning: ends[0]))
    let other = Descriptor(owning: ends[1])
    let outcome = ControlOutcome()
    var queue = ControlQueue()
    var plans = [ControlPlan(), ControlPlan()]
    plans[0].guards.set(.off, of: ["index"], isImplicit: false)
    plans[1].guards.set(.absorb, of: ["index"], isImplicit: false)
    for plan in plans {
      queue.take(plan, outcome: outcome)
      queue.send(to: socket)
    }
    // Each plan becomes two messages: one with the guard modes, and a sweep, which ends the plan.
    func answer(_ number: UInt32, _ result: UInt32 = 0) throws -> Bool {
      queue.take(try #require(ControlAnswer(Self.answer(number, result: result))), outcome: outcome)
    }
    #expect(try answer(1, 2))
    #expect(try answer(2))
    #expect(!outcome.now.isComplete && outcome.now.guardsRefused == nil)
    #expect(try answer(3))
    #expect(!outcome.now.isComplete)
    #expect(try answer(4))
    #expect(outcome.now.obeys(plans[1], about: .guards))
    #expect(try !answer(1))
    _ = other
  }

  @Test("a program without support for guard modes is shown as such, and still applies its quarantine policy")
  func guardsOfBefore() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let client = try await daemon.client()
      async let named = client.call("\(Self.own).GuardSet", ["kind": .string("index"), "mode": .string("off")])
      for kind in [5, 3] as [UInt32] {
        let message = try await Self.receive(process)
        #expect(message.kind == kind)
        try process.send(Self.answer(message.number, result: kind == 5 ? 2 : 0))
      }
      let change = try await named
      #expect(change.int("processes") == 1 && change.int("applied") == 0)
      for (method, applied) in [("GuardModes", 0), ("DanglingPolicies", 1)] as [(String, Int)] {
        let services = try await client.call("\(Self.own).\(method)").array("services")
        guard case .object(let view) = services.first else {
          Issue.record("no service")
          continue
        }
        #expect(view.int("applied") == applied)
        if applied == 0 { #expect(view.string("refusal") == "unknown to the program's version") }
      }
    }
  }

  @Test("an override reaches running and future processes, and the reply shows their answers")
  func protect() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let client = try await daemon.client()
      async let named = client.call(
        "\(Self.own).DanglingProtect", ["class": .string("App.Session"), "limit": .int(9)])
      var kinds: [UInt32] = []
      for _ in 0..<3 {
        let message = try await Self.receive(process)
        kinds.append(message.kind)
        if message.kind == 1 {
          #expect(String(decoding: message.payload.dropFirst(24), as: UTF8.self) == "App.Session")
        }
        try process.send(Self.answer(message.number))
      }
      #expect(kinds == [4, 1, 3])
      let change = try await named
      #expect(change.array("services").count == 1 && change.int("processes") == 1 && change.int("applied") == 1)
      let policy = try await client.call("\(Self.own).DanglingPolicies").array("services")
      guard case .object(let view) = policy.first else {
        Issue.record("no policy")
        return
      }
      #expect(view.int("processes") == 1 && view.int("applied") == 1)

      // The process sends a hello on a second connection. crashd then sends no more messages on the first connection.
      let next = try await daemon.attach()
      try next.send(TestProcess.hello(), [TestRing().memory()])
      let socket = next.socket
      let reply = try await onThread { try socket.receive() }
      #expect(reply.count == MemoryLayout<cs_attach_reply>.size && reply[256] == 3)
      for kind in [4, 1, 3] as [UInt32] {
        let message = try await Self.receive(next)
        #expect(message.kind == kind)
        try next.send(Self.answer(message.number))
      }
      async let ended = client.call(
        "\(Self.own).DanglingRelease", ["class": .string("App.Session"), "force": .bool(true)])
      for kind in [4, 2, 3] as [UInt32] {
        let message = try await Self.receive(next)
        #expect(message.kind == kind)
        try next.send(Self.answer(message.number, result: kind == 2 ? 6 : 0))
      }
      // The process has answered that it has no class of this name, so crashd counts no process that applied the
      // override.
      #expect(try await ended.int("applied") == 0)
      let events = try await client.call("\(Self.own).DanglingEvents").array("events")
      #expect(events.count == 2)
    }
  }

  @Test("an override for a class that no process has is refused and removed; another override can be reset")
  func unknownClass() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      let client = try await daemon.client()
      func answer(_ kinds: [UInt32], refusing refused: UInt32? = nil) async throws {
        for kind in kinds {
          let message = try await Self.receive(process)
          #expect(message.kind == kind)
          try process.send(Self.answer(message.number, result: kind == refused ? 6 : 0))
        }
      }
      try await client.send("\(Self.own).DanglingProtect", ["class": .string("No.Such")])
      try await answer([4, 1, 3], refusing: 1)
      #expect(try await client.reply().string("error") == "\(Self.own).NoSuchClass")
      // The plan is empty again, because crashd has removed the refused override.
      try await answer([3])
      let plain = try await client.call("\(Self.own).DanglingPolicies").array("services")
      guard case .object(let policy)? = plain.first else { return }
      #expect(policy.array("classes").isEmpty && policy.array("releasedClasses").isEmpty)

      async let released = client.call("\(Self.own).DanglingRelease", ["class": .string("App.Session")])
      try await answer([4, 2, 3])
      #expect(try await released.int("applied") == 1)
      async let reset = client.call("\(Self.own).DanglingReset", ["class": .string("App.Session")])
      try await answer([3])
      #expect(try await reset.int("applied") == 1)
      let texts = try await client.call("\(Self.own).DanglingEvents").array("events").compactMap { event -> String? in
        guard case .object(let event) = event else { return nil }
        return event.object("decision").string("text")
      }
      let uid = " (uid \(geteuid()))"
      #expect(
        texts == [
          "the operator resets App.Session" + uid, "the operator releases App.Session" + uid,
          "withdrawn: no process has the class No.Such", "the operator protects No.Such" + uid,
        ])
    }
  }

  @Test("an answer to a message that crashd did not send ends the connection and is counted")
  func unasked() async throws {
    try await TestDaemon.run { daemon in
      let process = try await daemon.attach()
      #expect(try await process.attach(TestRing().memory()) == .accepted)
      try process.send(Self.answer(1))
      #expect(try await process.reply() == nil)
      #expect(try await daemon.refusals()["message"] == .int(1))
    }
  }

  @Test("a process that does not answer gets a bounded number of messages; a later plan repeats all of them")
  func window() async throws {
    let plan = ControlPlan(
      budgetBytes: 1, words: (0..<100).map { ControlPlan.Word(name: "App.Class\($0)") } + [ControlPlan.Word(name: nil)])
    var numbers: [Int32] = [-1, -1]
    #expect(unsafe socketpair(AF_UNIX, Int32(SOCK_SEQPACKET.rawValue), 0, &numbers) == 0)
    let (sender, receiver) = (
      AttachSocket(descriptor: Descriptor(owning: numbers[0])), AttachSocket(descriptor: Descriptor(owning: numbers[1]))
    )
    func received() throws -> [(kind: UInt32, number: UInt32, payload: [UInt8])] {
      var all: [(kind: UInt32, number: UInt32, payload: [UInt8])] = []
      while true {
        var waiting = pollfd(fd: numbers[1], events: Int16(POLLIN), revents: 0)
        guard unsafe poll(&waiting, 1, 0) == 1, let message = try receiver.receive() else { return all }
        all.append(try #require(Self.message(message.bytes)))
      }
    }
    let outcome = ControlOutcome()
    var queue = ControlQueue()
    queue.take(plan, outcome: outcome)
    #expect(queue.firstCount == 32)
    queue.send(to: sender)
    queue.send(to: sender)
    var first = try received()
    #expect(first.count == 32 && first[0].kind == 4)
    // The message for all classes precedes the messages for single classes.
    #expect(first[1].kind == 1 && first[1].payload.count == 24)
    // For each answer, crashd sends one more message, until it has sent all.
    var count = first.count
    while !first.isEmpty {
      for message in first {
        #expect(queue.take(try #require(ControlAnswer(Self.answer(message.number, result: 6))), outcome: outcome))
      }
      queue.send(to: sender)
      first = try received()
      count += first.count
    }
    #expect(count == 103 && outcome.now.isComplete && outcome.now.done == 0)
    #expect(outcome.now.refused["App.Class7"] == "no such class" && outcome.now.refused.count == 102)
    queue.take(nil, outcome: outcome)
    queue.send(to: sender)
    #expect(try received().map(\.kind) == [3] && !outcome.now.isComplete)
  }
}

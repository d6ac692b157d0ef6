import CShimRing
import CrashProtocol
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The attach socket")
struct AttachServerTests {
  @Test("a stop accepts every connection that waits in the socket's queue")
  func queueAtStop() throws {
    let directory = try TestDirectory()
    let listener = try UnixSocket.listen(path: "\(directory.path)/attach", kind: .packets)
    var limit = rlimit()
    // Invariant: getrlimit() and setrlimit() access one struct rlimit. The test needs many descriptors.
    #expect(unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    limit.rlim_cur = limit.rlim_max
    #expect(unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
    let memory = try TestRing().memory()
    let processes = try (0..<300).map { _ in
      let process = TestProcess(
        try TestSocket(path: "\(directory.path)/attach", type: Int32(SOCK_SEQPACKET.rawValue)))
      try process.send(TestProcess.hello(), [memory])
      return process
    }
    let (_, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    let limits = Limits()
    var loop = try AttachLoop(
      AttachLoop.Configuration(
        listener: listener, spool: SpoolWatch(directory: directory.path), limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), events: continuation),
      poller: Poller())
    try loop.run { [.stop] }
    #expect(loop.connectionCount == processes.count)
  }

  @Test(
    "a request to settle (to handle pending events of) one process settles that process and no other",
    arguments: [true, false])
  func settleOne(isAsked: Bool) async throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/attach"
    let listener = try UnixSocket.listen(path: path, kind: .packets)
    let (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
    let limits = Limits.patient
    var loop = try AttachLoop(
      AttachLoop.Configuration(
        listener: listener, spool: SpoolWatch(directory: directory.path), limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), events: events),
      poller: Poller())
    let process = TestProcess(try TestSocket(path: path, type: Int32(SOCK_SEQPACKET.rawValue)))
    try process.send(TestProcess.hello(), [TestRing().memory()])
    let collector = Task {
      var names: [String] = []
      var asker: CheckedContinuation<Void, Never>?
      for await event in stream {
        // Ignores the event by which the loop starts the first reading of the spool.
        if case .spooled = event { continue }
        names.append(event.name)
        if case .settled(let continuation) = event { asker = continuation }
      }
      asker?.resume()
      return names
    }
    await withCheckedContinuation { settled in
      let outcome = Result {
        try loop.run {
          // The process closes its connection after the poller has reported an event, and before the loop executes the
          // request to settle the process.
          process.hangUp()
          return [.settle(pid: isAsked ? getpid() : 1, settled), .stop]
        }
      }
      #expect(throws: Never.self) { try outcome.get() }
      events.finish()
    }
    let end = ["announced", "ended"]
    #expect(await collector.value == ["attached", "announced"] + (isAsked ? end + ["settled"] : ["settled"] + end))
  }

  @Test("an attached process's crash is stored when the process wakes crashd, and a hang-up detaches the process")
  func oneCrash() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.addImage(0)
      let memory = try ring.memory()
      let process = try await daemon.attach()
      #expect(try await process.attach(memory) == .accepted)
      let client = try await daemon.client()
      // Wait, because crashd replies to the process before the process is in the list.
      _ = try await client.awaitProcess()
      #expect(try await client.call("io.crashshield.Crashd.Processes").array("processes").count == 1)

      ring.addCrash()
      try ring.write(to: memory)
      try process.wake()
      let progress = try await client.awaitProcess()
      #expect(progress.array("reports") == [.string(ring.id)])
      #expect(progress["attached"] == .bool(true))
      #expect(progress["settled"] == .bool(true))
      let report = try await client.call("io.crashshield.Crashd.Get").object("report")
      #expect(report.string("id") == ring.id)
      #expect(report.string("reason") == "Fatal error: sold out")
      #expect(report.object("process").int("pid") == Int(getpid()))

      process.hangUp()
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
      #expect(try await client.call("io.crashshield.Crashd.Processes").array("processes").isEmpty)
    }
  }

  @Test("a crash before the attach is found during the attach")
  func earlyCrash() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.addCrash()
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      #expect(try await daemon.client().awaitProcess().array("reports") == [.string(ring.id)])
    }
  }

  @Test("the crash of a second thread is added to the same report")
  func secondThread() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      ring.addCrash()
      let memory = try ring.memory()
      let process = try await daemon.attach()
      #expect(try await process.attach(memory) == .accepted)
      let client = try await daemon.client()
      _ = try await client.awaitProcess()
      ring.addCrash(slot: 1, signal: SIGSEGV)
      try ring.write(to: memory)
      process.hangUp()
      _ = try await client.awaitProcess()
      let report = try await client.call("io.crashshield.Crashd.Get", ["id": .string(ring.id)]).object("report")
      #expect(report.array("threads").count == 2)
      #expect(report.object("signal").string("name") == "SIGILL")
    }
  }

  @Test("if a process ends while it writes its record, there is no report, and the lost record is counted")
  func torn() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing(name: "half")
      ring.claim(0)
      let process = try await daemon.attach()
      #expect(try await process.attach(ring.memory()) == .accepted)
      process.hangUp()
      let client = try await daemon.client()
      #expect(try await client.awaitProcess().array("reports").isEmpty)
      #expect(try await client.call("io.crashshield.Crashd.Status").object("losses") == ["torn": .int(1)])
      #expect(daemon.log.contains("lost data of 'half'"))
    }
  }

  @Test("a hostile hello is answered and affects no other process", arguments: Hostile.all)
  func hostile(_ hostile: Hostile) async throws {
    var limits = Limits()
    // The process `good` sends its hello only after the hostile process. The timeout for a hello is long, so that it
    // does not end before that on a slow machine.
    limits.greeting_ms = 300_000
    try await TestDaemon.run(limits: limits) { daemon in
      let good = try await daemon.attach()
      let bad = try await daemon.attach()
      try bad.send(hostile.hello, hostile.send())
      let reply = try #require(try await bad.reply())
      #expect(reply.status == hostile.status)
      #expect(!reply.text.isEmpty)
      #expect(try await bad.reply() == nil)
      #expect(daemon.log.contains("refused attach from pid \(getpid())"))
      #expect(try await daemon.refusals()["attach"] == .int(1))

      var ring = TestRing()
      ring.addCrash()
      #expect(try await good.attach(ring.memory()) == .accepted)
      #expect(try await daemon.client().awaitProcess().array("reports") == [.string(ring.id)])
    }
  }

  @Test("an unknown message detaches a process, and its crash is still stored")
  func noise() async throws {
    try await TestDaemon.run { daemon in
      var ring = TestRing()
      let memory = try ring.memory()
      let process = try await daemon.attach()
      #expect(try await process.attach(memory) == .accepted)
      ring.addCrash()
      try ring.write(to: memory)
      try process.send([1, 2, 3], [memory])
      #expect(try await process.reply() == nil)
      #expect(try await daemon.client().awaitProcess().array("reports") == [.string(ring.id)])
      #expect(try await daemon.refusals()["message"] == .int(1))
    }
  }

  @Test("a thousand refused hellos with descriptors leave no descriptor open")
  func descriptors() async throws {
    let directory = try TestDirectory()
    let (stream, continuation) = AsyncStream.makeStream(of: PipelineEvent.self)
    withExtendedLifetime(stream) {}
    let path = "\(directory.path)/attach"
    let listener = try UnixSocket.listen(path: path, kind: .packets)
    let ledger = Ledger(logger: TestLog.logger, limits: Limits())
    let poller = try Poller()
    var loop = try AttachLoop(
      AttachLoop.Configuration(
        listener: listener, spool: SpoolWatch(directory: directory.path), limits: Limits(), ledger: ledger,
        events: continuation), poller: poller)
    let memory = try TestRing().memory()
    let hello = TestProcess.hello(images: [1, 2])
    // The test counts only the descriptors of this memfd, because other code of the test process opens other
    // descriptors.
    for _ in 0..<1_000 {
      let process = try TestSocket(path: path, type: Int32(SOCK_SEQPACKET.rawValue))
      try TestProcess(process).send(hello, [memory, memory, memory, memory, memory])
      var turns = 2
      try loop.run {
        turns -= 1
        poller.wake()
        return turns == 0 ? [.stop] : []
      }
    }
    #expect(ledger.refusals == ["attach": 1_000])
    // A separate thread closes the descriptors that were sent as images, in order. When it has done later work, all are
    // closed.
    let place = FileFacts.place(of: memory.number)
    #expect(ForeignFileWork.shared.wait(of: geteuid(), at: place, timeout_ms: 60_000) { true } == true)
    #expect(try openCount(of: memory) == 1)
  }

  @Test("crashd ignores wake-ups of a process after several without new records, but still reads the ring at its end")
  func emptyWakes() async throws {
    var limits = Limits.patient
    limits.emptyWakes = 3
    try await TestDaemon.run(limits: limits) { daemon in
      var ring = TestRing()
      let memory = try ring.memory()
      let process = try await daemon.attach()
      #expect(try await process.attach(memory) == .accepted)
      let client = try await daemon.client()
      for _ in 0..<10 {
        try process.wake()
        _ = try await client.awaitProcess()
      }
      #expect(try #require(try await daemon.refusals().int("wake-up")) > 0)
      ring.addCrash()
      try ring.write(to: memory)
      process.hangUp()
      #expect(try await client.awaitProcess().array("reports") == [.string(ring.id)])
    }
  }

  @Test("a connection that sends no hello is closed")
  func silence() async throws {
    var limits = Limits()
    limits.greeting_ms = 1
    try await TestDaemon.run(limits: limits) { daemon in
      let process = try await daemon.attach()
      let reply = try #require(try await process.reply())
      #expect(reply.status == .malformed)
      #expect(reply.text.contains("no hello"))
    }
  }

  @Test("processes beyond the limit are refused with the status for that")
  func limit() async throws {
    var limits = Limits.patient
    limits.processes = 1
    try await TestDaemon.run(limits: limits) { daemon in
      let first = try await daemon.attach()
      #expect(try await first.attach(TestRing().memory()) == .accepted)
      let second = try await daemon.attach()
      #expect(try await second.attach(TestRing().memory()) == .limit)
    }
  }

  @Test("rings that crashd still reads after their process has ended are counted towards the limit of processes")
  func ringLimit() async throws {
    var limits = Limits.patient
    limits.rings = 1
    try await TestDaemon.run(limits: limits) { daemon in
      let first = try await daemon.attach()
      #expect(try await first.attach(TestRing().memory()) == .accepted)
      let second = try await daemon.attach()
      try second.send(TestProcess.hello(), [TestRing().memory()])
      let reply = try #require(try await second.reply())
      #expect(reply.status == .limit)
      #expect(reply.text.contains("rings are held"))
    }
  }

  @Test("the unit gives crashd as many descriptors as its limits add up to")
  func unitLimit() throws {
    let root = #filePath.dropLast("Tests/Unit/CrashDaemonTests/Attach/AttachServerTests.swift".count)
    let path = "\(root)systemd/crashd.service"
    let unit = try #require(SmallFile.text(at: path))
    let line = try #require(unit.split(separator: "\n").first { $0.hasPrefix("LimitNOFILE=") })
    #expect(try #require(Int(line.dropFirst(12))) >= Limits().descriptors)
  }
}

extension PipelineEvent {
  fileprivate var name: String {
    switch self {
    case .attached: "attached"
    case .announced: "announced"
    case .recordedIncidents: "recordedIncidents"
    case .ended: "ended"
    case .asked: "asked"
    case .spooled: "spooled"
    case .settled: "settled"
    }
  }
}

/// Returns the number of descriptors of this process that refer to this file.
private func openCount(of descriptor: Descriptor) throws -> Int {
  let wanted = try descriptor.status()
  return try (Int32(0)..<4_096).count { number in
    let copy = fcntl(number, F_DUPFD_CLOEXEC, 3)
    guard copy >= 0 else { return false }
    let status = try Descriptor(owning: copy).status()
    return status.st_ino == wanted.st_ino && status.st_dev == wanted.st_dev
  }
}

/// A first message that no valid client sends.
struct Hostile: Sendable, CustomTestStringConvertible {
  var what: String
  var hello = TestProcess.hello()
  var send: @Sendable () throws -> [Descriptor]
  var status: cs_attach_status
  var testDescription: String { what }
}

extension Hostile {
  static let all: [Hostile] = [
    Hostile(what: "no ring", send: { [] }, status: .malformed),
    Hostile(what: "unsealed ring", send: { [try TestRing().memory(isSealed: false)] }, status: .unsealed),
    Hostile(
      what: "a device", send: { [Descriptor(owning: unsafe open("/dev/null", O_RDWR | O_CLOEXEC))] }, status: .unsealed),
    Hostile(
      what: "random bytes",
      send: {
        var ring = TestRing()
        ring.put((0..<4096).map { _ in UInt8.random(in: 0...255) }, at: 0)
        return [try ring.memory()]
      }, status: .malformed),
    Hostile(what: "no hello", hello: [1, 2, 3], send: { [] }, status: .malformed),
    Hostile(
      what: "descriptors that the hello does not announce", send: { try (0..<20).map { _ in try TestRing().memory() } },
      status: .malformed),
    Hostile(
      what: "another version", hello: TestProcess.hello(version: 9), send: { [try TestRing().memory()] },
      status: .version),
  ]
}

import CLinux
import CrashProtocol
import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Attempts to read hellos (first messages) of connections that systemd stored while crashd did not run")
struct HelloTrialsTests {
  private static let names: Set<String> = ["connection-1-2", "connection-1-3"]

  @Test("if crashd ends while it reads a stored hello, the hello is tried three more times; others have no limit")
  func trials() throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/hello-trials"
    for _ in 0..<HelloTrials.limit {
      // Each iteration simulates a crashd that ends while it reads the hello of connection-1-2: it begins an attempt,
      // and does not end it.
      var trials = HelloTrials(path: path, kept: Self.names)
      let other = trials.begin("connection-1-3")
      trials.end("connection-1-3")
      let bad = trials.begin("connection-1-2")
      #expect(other == .look && bad == .look)
    }
    for _ in 0..<3 {
      var trials = HelloTrials(path: path, kept: Self.names)
      let (bad, other) = (trials.begin("connection-1-2"), trials.begin("connection-1-3"))
      #expect(bad == .skip && other == .look)
      trials.end("connection-1-3")
    }
    // This crashd has no stored connection with the name connection-1-2, and drops the count of the name. A new
    // connection with the name starts at zero attempts.
    var anew = HelloTrials(path: path, kept: ["connection-1-3"])
    let again = anew.begin("connection-1-2")
    #expect(again == .look)
    anew.end("connection-1-2")
    #expect(SmallFile.text(at: path) == nil)
  }

  @Test("another build of crashd counts the attempts for a stored hello from zero")
  func otherProgram() throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/hello-trials"
    for program in ["old", "new"] {
      for _ in 0..<HelloTrials.limit {
        var trials = HelloTrials(path: path, kept: Self.names, program: program)
        let verdict = trials.begin("connection-1-2")
        #expect(verdict == .look)
      }
      var last = HelloTrials(path: path, kept: Self.names, program: program)
      let verdict = last.begin("connection-1-2")
      #expect(verdict == .skip)
    }
    #expect(HelloTrials.ownProgram() != "unknown")
    withExtendedLifetime(directory) {}
  }

  @Test("systemd keeps at most sixteen stored hellos")
  func many() throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/hello-trials"
    let names = (0..<HelloTrials.skipLimit + 2).map { "connection-1-\($0)" }
    let lines = names.map { "\($0) \(HelloTrials.limit)\n" }.joined()
    try SmallFile.replace(path, by: "program\n\(lines)")
    var trials = HelloTrials(path: path, kept: Set(names), program: "program")
    var verdicts: [HelloTrials.Verdict] = []
    for name in names { verdicts.append(trials.begin(name)) }
    #expect(verdicts == Array(repeating: .skip, count: HelloTrials.skipLimit) + [.giveUp, .giveUp])
    withExtendedLifetime(directory) {}
  }

  @Test(
    "a file of attempts that is malformed or from another program is ignored",
    arguments: [
      "", "\n\n", "x", "x 3\n", "program", "program\nx 4\n", "program\nx -1\n", "program\nx 99999999999999999999\n",
      "program\nx 0", "program\ny 3\n", "program\nx 3 3\n", "program\nx\u{0} 3", "other\nx 3\n",
    ])
  func foreign(text: String) throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/hello-trials"
    try SmallFile.replace(path, by: text)
    var trials = HelloTrials(path: path, kept: ["x"], program: "program")
    let verdict = trials.begin("x")
    #expect(verdict == .look)
    withExtendedLifetime(directory) {}
  }

  @Test("a stored hello is tried without limit if attempts cannot be recorded, and this is logged once")
  func notWritten() throws {
    let directory = try TestDirectory()
    let told = Mutex(0)
    var trials = HelloTrials(path: "\(directory.path)/nowhere/hello-trials", kept: ["x"]) { _ in
      told.withLock { $0 += 1 }
    }
    for _ in 0...HelloTrials.limit {
      let verdict = trials.begin("x")
      #expect(verdict == .look)
      trials.end("x")
    }
    #expect(told.withLock { $0 } == 1)
    withExtendedLifetime(directory) {}
  }

  /// Simulates a restart of crashd: systemd has stored some connections, and the test has systemd's notification
  /// socket.
  private struct Replay {
    let directory: TestDirectory
    let systemd: NotifySocket
    var clients: [TestProcess] = []
    var kept: [(name: String, descriptor: Descriptor)] = []
    private let listener: Descriptor

    init(_ count: Int) async throws {
      directory = try TestDirectory()
      systemd = try NotifySocket(in: directory)
      let path = "\(directory.path)/attach"
      listener = try UnixSocket.listen(path: path, kind: .packets)
      for index in 0..<count {
        clients.append(try await TestProcess(path: path))
        var number: Int32 = -1
        try SystemError.check(unsafe cd_socket_accept(listener.number, &number), "accept")
        kept.append((name: "connection-1-\(index)", descriptor: Descriptor(owning: number)))
      }
    }

    /// Runs an attach loop with the stored connections, and returns the number of attached processes.
    func run(_ trials: any HelloBook) async throws -> Int {
      let (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
      let environment = ["NOTIFY_SOCKET": systemd.path, "CRASHD_DESCRIPTOR_STORE": "1"]
      let ledger = Ledger(logger: TestLog.logger, limits: .patient)
      let store = DescriptorStore(
        environment: environment, notifier: Notifier(environment: environment), ledger: ledger)
      var loop = try AttachLoop(
        AttachLoop.Configuration(
          listener: listener, spool: SpoolWatch(directory: directory.path), limits: .patient, ledger: ledger,
          events: events, store: store, keptConnections: DescriptorStore.connections(in: kept), trials: trials),
        poller: Poller())
      try loop.run { [.stop] }
      events.finish()
      var attached = 0
      for await event in stream { if case .attached = event { attached += 1 } }
      return attached
    }
  }

  @Test("a stored hello that has ended crashd too often is refused unread, and its process gets EPIPE")
  func skipped() async throws {
    let replay = try await Replay(1)
    let path = "\(replay.directory.path)/hello-trials"
    let text = "program\nconnection-1-0 \(HelloTrials.limit)\n"
    try SmallFile.replace(path, by: text)
    try replay.clients[0].send(TestProcess.hello(), [TestRing().memory()])
    #expect(try await replay.run(HelloTrials(path: path, kept: ["connection-1-0"], program: "program")) == 0)
    // crashd has not removed the connection from systemd's store, so that a later version of crashd can read the hello.
    #expect(try replay.systemd.receive() == nil)
    #expect(SmallFile.text(at: path) == text)
    #expect(try await replay.clients[0].reply()?.status == .limit)
    let error = #expect(throws: SystemError.self) { try replay.clients[0].wake() }
    #expect(error?.code == EPIPE)
    #expect(try await replay.run(HelloTrials(path: path, kept: ["connection-1-0"], program: "repaired")) == 1)
    #expect(SmallFile.text(at: path) == nil)
  }

  @Test("stored hellos that have used up their attempts are dropped")
  func givenUp() async throws {
    struct Impatient: HelloBook {
      func begin(_: String) -> HelloTrials.Verdict { .giveUp }
      func end(_: String) { Issue.record("the hello was not read") }
    }
    let replay = try await Replay(1)
    try replay.clients[0].send(TestProcess.hello(), [TestRing().memory()])
    #expect(try await replay.run(Impatient()) == 0)
    #expect(try replay.systemd.receive() == "FDSTOREREMOVE=1\nFDNAME=connection-1-0")
  }

  @Test("an attempt is recorded before the hello is read, and its record is removed afterwards")
  func order() async throws {
    /// Observes for each client whether it had its reply, both when crashd recorded the attempt for this client and
    /// when crashd removed this record.
    final class Observer: HelloBook {
      let lines = Mutex<[String]>([])
      let clients: [TestProcess]
      init(_ clients: [TestProcess]) { self.clients = clients }
      func begin(_ name: String) -> HelloTrials.Verdict {
        note("begin", name)
        return .look
      }
      func end(_ name: String) { note("end", name) }
      private func note(_ what: String, _ name: String) {
        let answered = clients.map { $0.hasAnswer ? "1" : "0" }.joined()
        lines.withLock { $0.append("\(what) \(name) \(answered)") }
      }
    }
    let replay = try await Replay(2)
    // The first client connects, but sends no hello.
    try replay.clients[1].send(TestProcess.hello(), [TestRing().memory()])
    let observer = Observer(replay.clients)
    #expect(try await replay.run(observer) == 1)
    #expect(
      observer.lines.withLock { $0 } == [
        "begin connection-1-0 00", "end connection-1-0 00", "begin connection-1-1 00", "end connection-1-1 01",
      ])
  }
}

import CLinux
import CShimRing
import CrashProtocol
import CrashRing
import FoundationEssentials
import Glibc
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("systemd's descriptor store")
struct DescriptorStoreTests {
  /// Receives crashd's messages to systemd, in place of systemd.
  private struct Systemd {
    private let socket: NotifySocket

    init(in directory: TestDirectory) throws { socket = try NotifySocket(in: directory) }

    var environment: [String: String] { ["NOTIFY_SOCKET": socket.path, "CRASHD_DESCRIPTOR_STORE": "1"] }

    func receive() throws -> AttachSocket.Message { try #require(try socket.message()) }
  }

  private func ledger() -> Ledger { Ledger(logger: TestLog.logger, limits: Limits()) }

  @Test("a stored process is restored from its name, and removed by the same name")
  func roundTrip() throws {
    let directory = try TestDirectory()
    let systemd = try Systemd(in: directory)
    defer { withExtendedLifetime(directory) {} }
    let store = try #require(
      DescriptorStore(
        environment: systemd.environment, notifier: Notifier(environment: systemd.environment), ledger: ledger()))
    let ring = TestRing()
    let source = try RingSource(memory: ring.memory())
    let peer = Peer(pid: getpid(), uid: 4711)
    let process = AttachedProcess(
      number: 8, facts: ProcessFacts(source.mapping.contents(), peer: peer, unit: nil), ring: source)
    let name = store.name(of: process)
    store.keep(process, pidfd: try Self.pidfd(of: getpid()), as: name)
    let message = try systemd.receive()
    #expect(String(decoding: message.bytes, as: UTF8.self) == "FDSTORE=1\nFDPOLL=0\nFDNAME=\(name)")
    let passed = message.descriptors.reversed().map { (name: name, descriptor: $0) }
    let kept = DescriptorStore.processes(in: passed + [("crashd.socket", try ring.memory())])
    #expect(kept.map(\.peer) == [peer])
    #expect(kept.first?.ring.mapping.contents().identity.ringID == ring.id)
    #expect(kept.first.map { cd_process_exists($0.pidfd.number) } == true)
    store.forget(name)
    #expect(String(decoding: try systemd.receive().bytes, as: UTF8.self) == "FDSTOREREMOVE=1\nFDNAME=\(name)")
  }

  @Test("stored descriptors restore no process if their name is invalid, or if the ring or the pidfd is missing")
  func strange() throws {
    let memory = try TestRing().memory()
    let other = try Self.pidfd(of: getpid())
    for (name, descriptors) in [
      ("process-1-2-x-4", [memory, other]), ("process-", [memory, other]), ("process-1-2-3-4", [memory]),
      ("process-1-2-3-4", [other, other]), ("other-1-2-3-4", [memory, other]),
      ("process-1-2-3-99999999999", [memory, other]),
    ] {
      #expect(DescriptorStore.processes(in: descriptors.map { (name: name, descriptor: $0) }).isEmpty, "\(name)")
    }
  }

  @Test("without FileDescriptorStoreMax= in the unit, crashd stores no descriptor")
  func off() throws {
    for environment in [[:], ["NOTIFY_SOCKET": "/x"], ["CRASHD_DESCRIPTOR_STORE": "1"]] {
      #expect(
        DescriptorStore(environment: environment, notifier: Notifier(environment: environment), ledger: ledger()) == nil
      )
    }
  }

  @Test("descriptors that systemd passes are assigned by their names")
  func names() throws {
    #expect(PassedSockets.names(environment: ["LISTEN_FDNAMES": "a::c"], count: 4) == ["a", "", "c", "unknown"])
    let memory = try TestRing().memory()
    let copy = fcntl(memory.number, F_DUPFD_CLOEXEC, 3)
    let taken = PassedSockets.takeKept([copy, 77], names: ["process-1-2-3-4", "crashd.socket"])
    #expect(taken.sockets == [77])
    #expect(taken.kept.map(\.descriptor.number) == [copy])
  }

  @Test("the names of all descriptors that the unit may store fit into LISTEN_FDNAMES")
  func room() throws {
    let store = try #require(
      DescriptorStore(
        environment: ["NOTIFY_SOCKET": "/x", "CRASHD_DESCRIPTOR_STORE": "1"], notifier: Notifier(environment: [:]),
        ledger: ledger()))
    let source = try RingSource(memory: TestRing().memory())
    // The pid is the largest that Linux assigns (2²²), and the number of the connection has ten digits.
    let peer = Peer(pid: 4_194_304, uid: UInt32.max)
    let process = AttachedProcess(
      number: 9_999_999_999, facts: ProcessFacts(source.mapping.contents(), peer: peer, unit: nil), ring: source)
    let name = store.name(of: process)
    // The name contains the time since the start of the machine, in nanoseconds. Fourteen hexadecimal digits are enough
    // for two years.
    let generation = try #require(name.split(separator: "-").dropFirst().first).utf8.count
    let longest = name.utf8.count - generation + 14
    let unit = URL(filePath: #filePath).appending(path: "../../../../../systemd/crashd.service").standardizedFileURL
    let text = String(decoding: try Data(contentsOf: unit), as: UTF8.self)
    let line = try #require(text.split(separator: "\n").first { $0.hasPrefix("FileDescriptorStoreMax=") })
    let count = try #require(line.split(separator: "=").last.flatMap { Int($0) })
    // The limit of 128 KiB is MAX_ARG_STRLEN, which includes the terminating NUL. The variable also contains the names
    // of the sockets, and a separator for each name.
    #expect("LISTEN_FDNAMES=crashd:crashd".utf8.count + count * (longest + 1) + 1 <= 128 << 10)
    #expect(text.contains("Environment=CRASHD_DESCRIPTOR_STORE=1"))
  }

  @Test("if a process is killed while crashd is stopped, the next crashd reports it from its stored ring and pidfd")
  func killedMeanwhile() async throws {
    let directory = try TestDirectory()
    let (pid, pidfd) = try await Self.killedChild()
    defer { waitpid(pid, nil, 0) }
    let (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
    let limits = Limits.patient
    let ring = TestRing()
    let kept = try #require(
      KeptProcess(name: "process-1-2-\(geteuid())-\(pid)", descriptors: [ring.memory(), pidfd]))
    var loop = try AttachLoop(
      AttachLoop.Configuration(
        listener: UnixSocket.listen(path: "\(directory.path)/attach", kind: .packets),
        spool: SpoolWatch(directory: directory.path), limits: limits,
        ledger: Ledger(logger: TestLog.logger, limits: limits), events: events, kept: [kept]),
      poller: Poller())
    try loop.run { [.stop] }
    events.finish()
    var ends: [ProcessEnd] = []
    var rings: [String] = []
    for await event in stream {
      if case .attached(let process, _) = event { rings.append(process.facts.identity.ringID) }
      if case .ended(let ended) = event { ends.append(ended.end) }
    }
    #expect(rings == [ring.id])
    #expect(ends == [.status(SIGKILL)])
  }

  @Test("an unanswered connection is stored; the next crashd answers it, keeps its ring, and removes it")
  func keptConnection() async throws {
    let directory = try TestDirectory()
    let systemd = try Systemd(in: directory)
    let path = "\(directory.path)/attach"
    let listener = try UnixSocket.listen(path: path, kind: .packets)
    let (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
    let limits = Limits.patient
    let store = DescriptorStore(
      environment: systemd.environment, notifier: Notifier(environment: systemd.environment), ledger: ledger())
    func configuration(_ listener: Descriptor, _ kept: [KeptConnection]) throws -> AttachLoop.Configuration {
      AttachLoop.Configuration(
        listener: listener, spool: try SpoolWatch(directory: directory.path), limits: limits, ledger: ledger(),
        events: events, store: store, keptConnections: kept)
    }
    let client = try await TestProcess(path: path)
    var first = try AttachLoop(configuration(listener, []), poller: Poller())
    // The first crashd ends before the process has sent its hello.
    try first.run { [.stop] }
    let kept = try systemd.receive()
    let text = String(decoding: kept.bytes, as: UTF8.self)
    #expect(text.hasPrefix("FDSTORE=1\nFDPOLL=0\nFDNAME=connection-"))
    let name = try #require(text.split(separator: "=").last.map(String.init))
    let ring = TestRing()
    try client.send(TestProcess.hello(), [ring.memory()])

    // This connection causes an event, because the loop executes its commands only after an event.
    let other = try await TestProcess(path: path)
    let connections = DescriptorStore.connections(in: kept.descriptors.map { (name: name, descriptor: $0) })
    var second = try AttachLoop(configuration(listener, connections), poller: Poller())
    try second.run { [.stop] }
    events.finish()
    let process = String(decoding: try systemd.receive().bytes, as: UTF8.self)
    #expect(process.contains("FDNAME=process-"))
    #expect(String(decoding: try systemd.receive().bytes, as: UTF8.self) == "FDSTOREREMOVE=1\nFDNAME=\(name)")
    let status = try await client.reply()?.status
    #expect(status == .accepted)
    var rings: [String] = []
    for await event in stream {
      if case .attached(let process, _) = event { rings.append(process.facts.identity.ringID) }
    }
    #expect(rings == [ring.id])
    withExtendedLifetime((directory, other)) {}
  }

  @Test("a stored connection that is refused is closed, and a later wake-up fails with EPIPE")
  func keptAndRefused() async throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/attach"
    let listener = try UnixSocket.listen(path: path, kind: .packets)
    let (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
    let client = try await TestProcess(path: path)
    try client.send(TestProcess.hello(magic: 1), [TestRing().memory()])
    var number: Int32 = -1
    try SystemError.check(unsafe cd_socket_accept(listener.number, &number), "accept")
    let kept = DescriptorStore.connections(in: [(name: "connection-1-2", descriptor: Descriptor(owning: number))])
    // This connection causes an event, because the loop executes its commands only after an event.
    let other = try await TestProcess(path: path)
    let configuration = AttachLoop.Configuration(
      listener: listener, spool: try SpoolWatch(directory: directory.path), limits: .patient, ledger: ledger(),
      events: events, keptConnections: kept)
    var loop = try AttachLoop(configuration, poller: Poller())
    try loop.run { [.stop] }
    events.finish()
    // The process can still read the reply that crashd sent before it shut down the connection.
    let status = try await client.reply()?.status
    #expect(status == .malformed)
    let error = #expect(throws: SystemError.self) { try client.wake() }
    #expect(error?.code == EPIPE)
    // The descriptors of these objects must stay open while the loop runs.
    withExtendedLifetime((directory, other, stream, configuration, kept)) {}
  }

  static func pidfd(of pid: pid_t) throws -> Descriptor {
    var number: Int32 = -1
    try SystemError.check(unsafe cd_process_open(pid, &number), "open a process")
    return Descriptor(owning: number)
  }

  /// Starts a child that kills itself.
  ///
  /// Does not reap the child.
  private static func killedChild() async throws -> (pid_t, Descriptor) {
    var child: pid_t = 0
    // Invariant: the array ends with nil, and is freed after the call.
    let words = ["sh", "-c", "kill -KILL $$"]
    var arguments = unsafe words.map { unsafe strdup($0) } + [nil]
    defer { unsafe arguments.forEach { unsafe free($0) } }
    #expect(unsafe posix_spawn(&child, "/bin/sh", nil, nil, &arguments, nil) == 0)
    let pid = child
    let pidfd = try pidfd(of: pid)
    try await onThread {
      var information = unsafe siginfo_t()
      // waitid() writes one structure. WNOWAIT leaves the child a zombie.
      guard unsafe waitid(P_PID, id_t(pid), &information, WEXITED | WNOWAIT) == 0 else { throw SystemError("waitid") }
    }
    return (pid, pidfd)
  }
}

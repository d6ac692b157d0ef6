import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon
@testable import CrashStore

@Suite("systemd's watchdog")
struct WatchdogTests {
  @Test("the watchdog reports progress only if each loop of crashd has sent a heartbeat since the last report")
  func book() {
    let (one, two) = (Heartbeat("one"), Heartbeat("two"))
    var book = HeartbeatBook([one, two])
    func look() -> Bool { book.look() }
    #expect(!look())
    one.beat()
    #expect(!look())
    #expect(book.late == ["two"])
    // Further heartbeats of loop one do not compensate for loop two, which hangs.
    one.beat()
    #expect(!look())
    two.beat()
    #expect(look())
    book.begin()
    #expect(!look())
    #expect(book.late == ["one", "two"])
  }

  @Test("the watchdog expects no heartbeat of a resting loop until that loop beats again")
  func rest() {
    let heartbeat = Heartbeat("one")
    heartbeat.rest()
    var book = HeartbeatBook([heartbeat])
    func look() -> Bool { book.look() }
    #expect(look())
    heartbeat.beat()
    book.begin()
    #expect(!look())
    heartbeat.rest()
    #expect(look())
  }

  @Test("the watchdog requests a heartbeat from a loop only once until the loop beats")
  func asked() {
    let heartbeat = Heartbeat("one")
    var count = 0
    for _ in 0..<3 { heartbeat.ask { count += 1 } }
    #expect(count == 1)
    heartbeat.beat()
    heartbeat.ask { count += 1 }
    #expect(count == 2)
  }

  @Test("the watchdog needs a valid WATCHDOG_USEC, and this process's pid if a pid is given")
  func request() {
    let pid: Int32 = 4711
    let read = { (environment: [String: String]) in Watchdog.Request(environment: environment, pid: pid) }
    #expect(read(["WATCHDOG_USEC": "120000000"])?.period_ms == 30_000)
    // If a loop is late, the watchdog checks it in these shorter steps, so that a heartbeat shortly before the deadline
    // still reaches systemd in time.
    #expect(read(["WATCHDOG_USEC": "120000000"])?.lateStep_ms == 3_750)
    #expect(read(["WATCHDOG_USEC": "120000000", "WATCHDOG_PID": "4711"])?.limit_us == 120_000_000)
    #expect(read(["WATCHDOG_USEC": "1"])?.period_ms == 1)
    #expect(read(["WATCHDOG_USEC": "\(UInt64.max - 1)"])?.period_ms == Int32.max)
    for environment in [
      // With these values, systemd expects no watchdog messages from this process. `UInt64.max` is USEC_INFINITY.
      [:], ["WATCHDOG_USEC": "0"], ["WATCHDOG_USEC": "\(UInt64.max)"], ["WATCHDOG_USEC": "-5"], ["WATCHDOG_USEC": "x"],
      ["WATCHDOG_PID": "4711"],
      ["WATCHDOG_USEC": "5", "WATCHDOG_PID": "4712"], ["WATCHDOG_USEC": "5", "WATCHDOG_PID": ""],
    ] { #expect(read(environment) == nil, "\(environment)") }
  }

  @Test("a stuck loop stops the watchdog messages and is named in the log; messages resume when the loop moves")
  func stands() async throws {
    let directory = try TestDirectory()
    let systemd = try NotifySocket(in: directory)
    let log = TestLog()
    let (moving, standing) = (Heartbeat("moving"), Heartbeat("standing"))
    let looks = Atomic<Int>(0)
    let isFreed = Atomic<Bool>(false)
    let (turns, turn) = AsyncStream.makeStream(of: Int.self)
    let watchdog = try Watchdog(
      Watchdog.Request(limit_us: 4_000),
      systemd: try #require(Notifier(environment: ["NOTIFY_SOCKET": systemd.path]).connection()),
      loops: [
        Watchdog.Loop(heartbeat: moving) {
          moving.beat()
          turn.yield(looks.wrappingAdd(1, ordering: .relaxed).newValue)
          if isFreed.load(ordering: .relaxed) { standing.beat() }
        },
        Watchdog.Loop(heartbeat: standing) {},
      ], logger: log.logger)
    defer { watchdog.end() }
    let running = Task { try await watchdog.run() }
    // At its 16th turn, the watchdog has checked the loops in fifteen complete turns, and sent no message.
    for await number in turns where number == 16 { break }
    #expect(try systemd.receive() == nil)
    #expect(log.lines.count { $0.contains("loops without progress: standing;") } == 1)
    isFreed.store(true, ordering: .relaxed)
    #expect(try await systemd.next() == "WATCHDOG=1")
    watchdog.end()
    running.cancel()
    _ = await running.result
    withExtendedLifetime(directory) {}
  }

  @Test("a watchdog message that does not fit into systemd's full queue is sent again")
  func fullQueue() async throws {
    let directory = try TestDirectory()
    let systemd = try NotifySocket(in: directory)
    let connection = try #require(Notifier(environment: ["NOTIFY_SOCKET": systemd.path]).connection())
    while connection.send("FULL") {}
    let log = TestLog()
    let heartbeat = Heartbeat("one")
    let looks = Atomic<Int>(0)
    let (turns, turn) = AsyncStream.makeStream(of: Int.self)
    let watchdog = try Watchdog(
      Watchdog.Request(limit_us: 4_000), systemd: connection,
      loops: [
        Watchdog.Loop(heartbeat: heartbeat) {
          heartbeat.beat()
          turn.yield(looks.wrappingAdd(1, ordering: .relaxed).newValue)
        }
      ], logger: log.logger)
    defer { watchdog.end() }
    let running = Task { try await watchdog.run() }
    for await number in turns where number == 16 { break }
    #expect(log.lines.count { $0.contains("systemd reads no notifications") } == 1)
    var message = "FULL"
    while message == "FULL" { message = try await systemd.next() }
    #expect(message == "WATCHDOG=1")
    watchdog.end()
    running.cancel()
    _ = await running.result
    withExtendedLifetime(directory) {}
  }

  @Test("the store keeper beats after it has stored buffered reports, and announces that the store has recovered")
  func keeper() async throws {
    let daemon = try TestDaemon(TestDirectory())
    let held = StoreOutage.Held(
      report: try .sample(id: "aa"), raw: [1], owner: Peer(pid: 7, uid: 1_000), process: "shop")
    #expect(daemon.analysis.outage.hold(held, because: .unavailable(path: "/x", reason: "full")))
    let heartbeat = Heartbeat("store")
    let changes = daemon.analysis.outage.changes()
    let keeper = StoreKeeper(
      StoreKeeper.Configuration(
        analysis: daemon.analysis, settings: LiveSettings(), directory: daemon.directories.state,
        heartbeat: heartbeat))
    let before = heartbeat.beats
    let running = Task { try await keeper.run() }
    var iterator = changes.makeAsyncIterator()
    #expect(await iterator.next()?.isWell == true)
    #expect(heartbeat.beats > before)
    #expect(daemon.analysis.outage.count == 0)
    running.cancel()
    _ = await running.result
  }

  @Test("while a set-aside database is read, the store keeper's thread is free, and no heartbeat is expected")
  func rescue() async throws {
    let daemon = try TestDaemon(TestDirectory())
    let path = "\(daemon.directories.state)/aside"
    // The file to rescue is a pipe. When crashd opens the pipe to read it, it blocks until the test opens the pipe for
    // writing.
    try #require(unsafe mkfifo(path, 0o600) == 0)
    let heartbeat = Heartbeat("store")
    let keeper = StoreKeeper(
      StoreKeeper.Configuration(
        analysis: daemon.analysis, settings: LiveSettings(), directory: daemon.directories.state,
        setAside: ReportStore.SetAside(path: path, reason: "it is corrupt", keepsCursors: false), heartbeat: heartbeat))
    let running = Task { try await keeper.run() }
    // The keeper logs this line and starts the thread that reads the file, without a suspension in between. Therefore,
    // `isFree` returns after this start.
    while !daemon.log.contains("it is set aside as") { await Task.yield() }
    let (answers, answer) = AsyncStream.makeStream(of: Bool.self)
    let asking = Task { _ = answer.yield(await keeper.isFree) }
    let alarm = Task {
      try await Task.sleep(for: .seconds(300))
      answer.yield(false)
    }
    var first = answers.makeAsyncIterator()
    #expect(await first.next() == true)
    #expect(!daemon.log.contains("nothing in it could be read"))
    #expect(heartbeat.isResting)
    let writer = Descriptor(owning: unsafe open(path, O_RDWR | O_CLOEXEC))
    alarm.cancel()
    await asking.value
    running.cancel()
    _ = await running.result
    #expect(daemon.log.contains("nothing in it could be read"))
    withExtendedLifetime(writer) {}
  }

  @Test("the attach thread beats for each restored process and each waiting connection")
  func attach() async throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/attach"
    let listener = try UnixSocket.listen(path: path, kind: .packets)
    let kept = try (1...3).map { id in
      try #require(
        KeptProcess(
          name: "process-1-\(id)-\(geteuid())-\(getpid())",
          descriptors: [TestRing(id: UInt8(id)).memory(), DescriptorStoreTests.pidfd(of: getpid())]))
    }
    var clients: [TestProcess] = []
    for _ in 0..<4 { clients.append(try await TestProcess(path: path)) }
    let (stream, events) = AsyncStream.makeStream(of: PipelineEvent.self)
    let heartbeat = Heartbeat("attach")
    var loop = try AttachLoop(
      AttachLoop.Configuration(
        listener: listener, spool: SpoolWatch(directory: directory.path), limits: .patient,
        ledger: Ledger(logger: TestLog.logger, limits: .patient), events: events, kept: kept, heartbeat: heartbeat),
      poller: Poller())
    try loop.run { [.stop] }
    events.finish()
    #expect(loop.connectionCount == 7)
    // The loop has sent one heartbeat for each of the seven connections, and one for its only iteration.
    #expect(heartbeat.beats == 8)
    withExtendedLifetime((directory, clients, stream)) {}
  }

  @Test("each loop of an idle crashd beats when the watchdog requests a heartbeat")
  func idle() async throws {
    let directory = try TestDirectory()
    let systemd = try NotifySocket(in: directory)
    try await TestDaemon.run(configure: {
      $0.environment = ["NOTIFY_SOCKET": systemd.path, "WATCHDOG_USEC": "40000"]
    }) { _ in
      var messages = 0
      while messages < 3 {
        if try await systemd.next() == "WATCHDOG=1" { messages += 1 }
      }
      // The test must read the messages. Otherwise the queue of the socket would be full when crashd sends its stop
      // message.
      try systemd.readOn()
    }
    withExtendedLifetime(directory) {}
  }
}

extension StoreKeeper {
  /// Reading this property needs a turn of the actor, so it returns only while the actor's loop does not block.
  fileprivate var isFree: Bool { true }
}

import CLinux
import CShimRing
import CrashRing
import Glibc
import LinuxSystem
import Synchronization

/// An event that the attach thread sends to the pipeline.
enum PipelineEvent: Sendable {
  case attached(AttachedProcess, [ImageFile])
  /// The process wrote a record, or ended.
  case announced(AttachedProcess)
  /// The process recorded incidents (faults that it survived).
  case recordedIncidents(AttachedProcess)
  /// The connection of the process is closed, and crashd knows either how the process ended or that the process still
  /// runs.
  ///
  /// This event follows the last `announced` event of the process.
  case ended(EndedProcess)
  /// New files are in the spool directory, where crashed processes leave copies of their crash records.
  ///
  /// If the list is nil, the pipeline must list the directory itself.
  case spooled([String]?)
  /// A request of the watchdog, which uses it to check that the pipeline still handles events.
  case asked
  /// Asks the pipeline to resume the continuation after it has handled all earlier events.
  case settled(CheckedContinuation<Void, Never>)
}

/// The state of the attach thread, which waits in one epoll instance and never blocks on a process.
struct AttachLoop {
  struct Configuration: Sendable {
    var listener: Descriptor
    /// Watches the spool directory (inotify).
    var spool: SpoolWatch
    var limits: Limits
    var ledger: Ledger
    var events: AsyncStream<PipelineEvent>.Continuation
    var census = RingCensus()
    /// Stores rings (the memory with the crash records of processes) in systemd, which keeps them while crashd does not
    /// run.
    var store: DescriptorStore?
    /// The processes that an earlier crashd stored in systemd.
    var kept: [KeptProcess] = []
    /// The connections that an earlier crashd stored in systemd before it read their hellos (first messages).
    var keptConnections: [KeptConnection] = []
    /// Counts the crashes of crashd that occurred while it read a hello; nil if these crashes are not counted.
    var trials: (any HelloBook)?
    /// The plans for processes: the classes to protect against use-after-free, and the modes of guards.
    var board = ProtectionBoard()
    /// The messages that inform new processes about the last crash of their program.
    var lastCrashes = LastCrashBox()
    /// The settings, which contain the rules about processes whose memory must not be stored.
    var settings = LiveSettings()
    /// The heartbeat of the attach thread's loop for the watchdog.
    var heartbeat = Heartbeat("attach")
  }

  struct Connection {
    /// The socket of the connection; nil if the process attached to an earlier crashd and has not reconnected yet.
    var socket: AttachSocket?
    var peer: Peer
    /// The account (the uids that share one set of limits) whose limits apply to the process.
    var account: UInt32
    /// The time at which crashd closes the connection if no hello has arrived.
    var deadline_ns: UInt64
    var process: AttachedProcess?
    var pidfd: Descriptor?
    /// The name under which systemd stores the connection until its hello is read.
    var keptName: String?
    /// Whether the process has sent another hello, on another connection.
    ///
    /// If so, the other connection reports the end of the process.
    var isSuperseded = false
    /// The control messages that crashd sends to the process.
    var control = ControlQueue()
  }

  // The following constants are tokens of the poller. Token 0 belongs to the wake-up descriptor. A connection has an
  // even token for its socket, and the next odd token for its pidfd.
  private static let listenerToken: UInt64 = 1
  private static let spoolToken: UInt64 = 2
  private static let memoryToken: UInt64 = 3
  private static let firstToken: UInt64 = 4
  private static let messagesPerTurn = 32
  private static let acceptsPerTurn = 64
  /// The maximum number of connections that are accepted at once.
  ///
  /// The number is higher than the maximum length of the listener's queue, so each call can empty the queue.
  private static let acceptsAtOnce = 2_048
  private static let pause_ms: Int32 = 100

  let configuration: Configuration
  let poller: Poller
  var connections: [UInt64: Connection] = [:]
  var endings: ProcessEndings
  var memory: MemoryWatch
  private var rate: AttachRate
  var nextToken = Self.firstToken
  private var isListening = false
  /// The time at which crashd accepts connections again, after crashd had no free descriptor for a connection.
  ///
  /// If crashd tried again immediately, the poller would report the same waiting connection repeatedly.
  private var listensAgain_ns: UInt64 = 0
  /// The version of the protection board when the loop last sent plans.
  var boardVersion: UInt64 = 0
  /// The schedule for reading the resource usage of processes.
  var readings = Readings()
  /// The rules about processes whose memory must not be stored, as the loop last applied them.
  var memoryRules: [MemoryRule] = []

  init(_ configuration: Configuration, poller: Poller) throws(SystemError) {
    self.configuration = configuration
    self.poller = poller
    endings = ProcessEndings(poller: poller, limits: configuration.limits)
    memory = MemoryWatch()
    rate = AttachRate(perMinute: configuration.limits.attachesPerMinute)
    if let descriptor = memory.descriptor { try poller.add(descriptor, token: Self.memoryToken) }
    try poller.add(configuration.spool.descriptor, token: Self.spoolToken)
  }

  /// The number of connections, including connections whose hello was not read yet.
  var connectionCount: Int { connections.count }

  /// Runs the loop until a command stops it.
  mutating func run(commands: () -> [AttachServer.Command]) throws(SystemError) {
    takeKept()
    // First accept the waiting connections, and then list the files that were already in the spool before crashd
    // started. The comment at the function `spooled` explains why connections come first.
    takeWaiting()
    configuration.events.yield(.spooled(nil))
    // Wake the loop once, because other threads can send commands before the loop begins.
    poller.wake()
    while true {
      configuration.heartbeat.beat()
      try listen()
      for token in try poller.wait(timeout_ms: timeout_ms()) { handle(token) }
      for command in commands() {
        switch command {
        case .settle(let pid, let continuation):
          settle(pid)
          configuration.events.yield(.settled(continuation))
        case .stop:
          try settleAll()
          // Announce every ring to the pipeline once more, because the message with which a process announced its
          // record could have been lost.
          for connection in connections.values { connection.process.map(announce) }
          for ended in endings.lookAll() { tell(ended) }
          // Without the descriptor store, give up the processes whose end is not known yet. With the descriptor store,
          // the next crashd handles them.
          if configuration.store == nil { for ended in endings.giveUp() { tell(ended) } }
          return
        }
      }
      expire()
      control()
      tellLastCrashes()
      memory.look(isWell: isWell)
      readDue()
    }
  }

  private mutating func handle(_ token: UInt64) {
    switch token {
    case Poller.wakeToken: break
    case Self.listenerToken: acceptAll()
    case Self.spoolToken: spooled()
    case Self.memoryToken:
      memory.changed(isWell: isWell)
      readSoon()
    default:
      let number = token & ~1
      if token & 1 == 1 { processEnded(number) } else { receive(number) }
    }
  }

  /// Reads all connections now, including connections that the poller has not reported yet.
  private mutating func settleAll() throws(SystemError) {
    for token in try poller.wait(timeout_ms: 0) { handle(token) }
    settle(nil)
  }

  /// Reads the connections of one process now, including connections that the poller has not reported yet.
  ///
  /// If the pid is nil, all connections are read.
  private mutating func settle(_ pid: Int32?) {
    // Accept connections first. The connection of a process that has ended can still be in the listener's queue,
    // together with all messages of the process.
    takeWaiting()
    spooled()
    for number in connections.keys.sorted() where pid == nil || self.pid(of: number) == pid {
      receive(number)
      if connections[number]?.pidfd?.isReadable == true { processEnded(number) }
      if hasBecomeAnother(number) { close(number) }
    }
    for ended in endings.lookAll(pid: pid) { tell(ended) }
  }

  /// Returns the pid of a connection's process; 0 if crashd does not know it yet.
  private func pid(of number: UInt64) -> Int32? {
    connections[number].map { $0.process?.facts.peer.pid ?? $0.peer.pid }
  }

  /// Reads the names of new spool files.
  ///
  /// A process that crashes while it connects also leaves its ring in the spool. Therefore, accept connections first:
  /// the pipeline must receive the process before the file of this process.
  private mutating func spooled() {
    let news = configuration.spool.read()
    if news.overflowed || !news.names.isEmpty { takeWaiting() }
    if news.overflowed { configuration.events.yield(.spooled(nil)) }
    if !news.names.isEmpty || news.hasBegun { configuration.events.yield(.spooled(news.names)) }
  }
}

// Handles new connections.
extension AttachLoop {
  /// Accepts the connections in the listener's queue, and reads the hellos that have arrived.
  mutating func takeWaiting() {
    acceptAll(limit: Self.acceptsAtOnce)
    for (number, connection) in connections where connection.process == nil { receive(number) }
  }

  private mutating func listen() throws(SystemError) {
    guard !isListening, Moment.monotonic_ns() >= listensAgain_ns else { return }
    try poller.add(configuration.listener, token: Self.listenerToken)
    isListening = true
  }

  private mutating func acceptAll(limit: Int = Self.acceptsPerTurn) {
    for _ in 0..<limit {
      var number: Int32 = -1
      let code = unsafe cd_socket_accept(configuration.listener.number, &number)
      switch code {
      case 0: accepted(AttachSocket(descriptor: Descriptor(owning: number)))
      case EINTR, ECONNABORTED: continue
      case EMFILE, ENFILE, ENOMEM, ENOBUFS:
        // crashd has no free descriptor, so the connection stays in the listener's queue, and the poller would report
        // it again immediately. Therefore, crashd stops accepting connections for `pause_ms`.
        configuration.ledger.refuse("connection", from: Peer(pid: 0, uid: geteuid()), because: SystemError.text(code))
        poller.remove(configuration.listener)
        isListening = false
        listensAgain_ns = Moment.monotonic_ns() + UInt64(Self.pause_ms) * 1_000_000
        return
      default: return
      }
    }
  }

  /// Adds a connection that was just accepted, or that an earlier crashd stored, and reads its hello if it has arrived.
  mutating func accepted(_ socket: AttachSocket, keptName: String? = nil) {
    configuration.heartbeat.beat()
    let number = nextToken
    nextToken += 2
    // Store the connection in systemd first. The connection is no longer in the listener's queue, so it would be lost
    // if crashd ended now.
    let name = keptName ?? configuration.store?.keep(connection: socket.descriptor, number: number)
    do {
      let peer = try UnixSocket.peer(of: socket.descriptor.number)
      let limits = configuration.limits
      let waiting = connections.values.filter { $0.process == nil }
      let account = limits.account(of: peer.uid)
      if waiting.count >= limits.places(limits.greetings, for: peer.uid)
        || (peer.uid != 0
          && waiting.count { $0.account == account } >= limits.greetingsPerUser)
      {
        refuse(socket, peer, .limit("too many connections that have not sent a hello"))
        socket.hangUp()
        if let name { configuration.store?.forget(name) }
        return
      }
      // Refuse the connection if the user's file systems do not answer. After `hangUp`, the kernel discards the sent
      // descriptors without a call to a file system.
      if ForeignFileWork.shared.isFull(peer.uid) {
        refuse(socket, peer, .limit("too many files of uid \(peer.uid) are on file systems that do not answer"))
        socket.hangUp()
        if let name { configuration.store?.forget(name) }
        return
      }
      try poller.add(socket.descriptor, token: number)
      let deadline = Moment.monotonic_ns() + UInt64(limits.greeting_ms) * 1_000_000
      connections[number] = Connection(
        socket: socket, peer: peer, account: account, deadline_ns: deadline, keptName: name)
      receive(number)
    } catch {
      socket.hangUp()
      if let name { configuration.store?.forget(name) }
      configuration.ledger.refuse("connection", from: Peer(pid: 0, uid: geteuid()), because: "\(error)")
    }
  }

  func refuse(_ socket: AttachSocket, _ peer: Peer, _ refusal: AttachRefusal, as kind: String = "attach") {
    configuration.ledger.refuse(kind, from: peer, because: refusal.reason)
    // Ignore a failure to send the reply. A peer that cannot receive the reply detects that the socket is closed.
    _ = socket.send(AttachReply.bytes(status: refusal.status, text: refusal.reason))
  }

  private func timeout_ms() -> Int32 {
    if !isListening { return Self.pause_ms }
    let now = Moment.monotonic_ns()
    let greeting = connections.values.lazy.filter { $0.process == nil }.map(\.deadline_ns).min()
      .map { $0 <= now ? 0 : $0 - now }
    let due = [greeting, memory.timeout_ns(at: now), timeToReading_ns(at: now)]
    guard let first = due.compactMap({ $0 }).min() else { return -1 }
    return first == 0 ? 0 : Int32(clamping: first / 1_000_000 + 1)
  }

  private mutating func expire() {
    let now = Moment.monotonic_ns()
    for (number, connection) in connections where connection.process == nil && connection.deadline_ns <= now {
      let refusal = AttachRefusal.malformed("no hello within \(configuration.limits.greeting_ms) ms")
      if let socket = connection.socket { refuse(socket, connection.peer, refusal) }
      close(number)
    }
  }
}

// Handles messages of processes.
extension AttachLoop {
  mutating func receive(_ number: UInt64) {
    for _ in 0..<Self.messagesPerTurn {
      guard let connection = connections[number], let socket = connection.socket else { return }
      do {
        // The hello of a stored connection stays in the socket until crashd has stored the descriptors of the hello.
        guard
          let message = try socket.receive(
            isPeek: connection.keptName != nil, of: connection.peer.uid)
        else { return }
        if message.isEnd {
          close(number)
        } else if let process = connection.process {
          handle(message, of: process, number)
        } else {
          // Return after the hello, because this function can run while crashd closes a connection, and must not close
          // another connection at that time. A later iteration of the loop reads the other messages of the process.
          return greet(message, number, connection, socket)
        }
      } catch {
        configuration.ledger.refuse("message", from: connection.peer, because: "\(error)")
        close(number)
      }
    }
  }

  private mutating func handle(_ message: AttachSocket.Message, of process: AttachedProcess, _ number: UInt64) {
    if message.descriptors.isEmpty, let answer = ControlAnswer(message.bytes) {
      take(answer, of: process, number)
      return
    }
    guard message.descriptors.isEmpty, !message.isTruncated else { return refuse(message: number, of: process) }
    switch message.bytes {
    case [UInt8(CS_ATTACH_CRASHED)]:
      readAtCrash(number)
      announce(process)
    case [UInt8(CS_ATTACH_INCIDENTS)]:
      // release: pairs with the pipeline, which clears the flag before it reads the incidents.
      if !process.hasNewIncidents.exchange(true, ordering: .acquiringAndReleasing) {
        configuration.events.yield(.recordedIncidents(process))
      }
    default: refuse(message: number, of: process)
    }
  }

  private mutating func refuse(message number: UInt64, of process: AttachedProcess) {
    configuration.ledger.refuse("message", from: process.facts.peer, because: "the message is not a wake-up")
    close(number)
  }

  func announce(_ process: AttachedProcess) {
    // release: pairs with the pipeline, which clears the flag before it reads the ring. Therefore, the pipeline reads
    // everything that the process wrote before it sent the message.
    if !process.isAnnounced.exchange(true, ordering: .acquiringAndReleasing) {
      configuration.events.yield(.announced(process))
    }
  }

  private mutating func greet(
    _ message: AttachSocket.Message, _ number: UInt64, _ connection: Connection, _ socket: AttachSocket
  ) {
    do throws(AttachRefusal) {
      try checkLimits(connection.peer)
      // The pidfd reports the end of the process. The hang-up of the socket also reports the end, but not if a forked
      // child holds the socket open.
      let pidfd = try? UnixSocket.process(of: socket.descriptor.number, pid: connection.peer.pid)
      let (process, images) = try AttachGreeting.check(
        message, from: connection.peer, pidfd: pidfd, number: number, census: configuration.census)
      let names = supersede(process.facts)
      keep(process, pidfd, under: names.kept)
      for name in names.stale { configuration.store?.forget(name) }
      if connection.keptName != nil {
        forgetConnection(number)
        _ = try? socket.receive(of: connection.peer.uid)
      }
      // A process that has already crashed cannot read the reply to its hello. The process is attached nevertheless,
      // because crashd has its ring.
      let plan = configuration.board.plan(of: ServiceKey(process.facts))
      let isWithheld = configuration.settings.current.noMemory.hold(for: process.facts)
      if plan != nil || isWithheld {
        connections[number]?.control.take(plan, isWithheld: isWithheld, outcome: process.control)
      }
      // Read the resource usage before the reply, because the process can crash right after it.
      readFirst(process, pidfd)
      let count = connections[number]?.control.firstCount ?? 0
      _ = socket.send(AttachReply.bytes(status: .accepted, text: "", controlCount: count))
      connections[number]?.control.send(to: socket)
      if let pidfd { try? poller.add(pidfd, token: number | 1) }
      connections[number]?.process = process
      connections[number]?.pidfd = pidfd
      if process.facts.isPIDClaimed {
        configuration.ledger.noteOtherNamespace(of: process.facts.peer, process: process.facts.identity.name)
      }
      if let events = process.facts.memory { memory.join(number, events) }
      configuration.events.yield(.attached(process, images))
      // Announce the process to the pipeline now, because the process could have crashed before it attached.
      announce(process)
    } catch {
      refuse(socket, connection.peer, error)
      if error.isLoss { configuration.ledger.lose(["ring": 1], of: connection.peer, process: "a refused ring") }
      close(number)
    }
  }

  private mutating func checkLimits(_ peer: Peer) throws(AttachRefusal) {
    let limits = configuration.limits
    let (uid, account) = (peer.uid, limits.account(of: peer.uid))
    // Count the connections without copying them, because there can be thousands of connections, and each attach counts
    // them.
    let all = limits.places(limits.processes, for: uid)
    guard connections.values.count(where: { $0.process != nil }) < all else {
      throw .limit("\(all) processes are attached")
    }
    if uid != 0 {
      let own = connections.values.count { $0.process != nil && $0.account == account }
      guard own < limits.processesPerUser else {
        throw .limit("\(limits.processesPerUser) processes of uid \(account) are attached")
      }
    }
    guard rate.admit(uid, as: account, at: Moment.monotonic_ns()) else {
      throw .limit("uid \(account) attaches more than \(limits.attachesPerMinute) processes a minute")
    }
    let rings = configuration.census.count { limits.account(of: $0) == account }
    let mostRings = limits.places(limits.rings, for: uid)
    guard rings.all < mostRings else {
      throw .limit("\(mostRings) rings are held: processes have ended and are not analyzed yet")
    }
    guard uid == 0 || rings.own < limits.ringsPerUser else {
      throw .limit("\(limits.ringsPerUser) rings of uid \(account) are held: some have ended and are not analyzed yet")
    }
  }
}

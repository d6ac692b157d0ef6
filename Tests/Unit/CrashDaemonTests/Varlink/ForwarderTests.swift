import CrashProtocol
import CrashReport
import CrashStore
import FoundationEssentials
import Glibc
import LinuxSystem
import Synchronization
import TestKit
import Testing

@testable import CrashDaemon

/// A collector that a test controls.
///
/// It accepts one connection after the other.
private struct TestCollector: Sendable {
  let listener: Descriptor

  init(path: String) throws { listener = try UnixSocket.listen(path: path, kind: .stream) }

  /// Waits for the next connection, with a timeout that only a failing test reaches.
  func accept() async throws -> Connection {
    let listener = listener
    return try await onThread {
      var wanted = pollfd(fd: listener.number, events: Int16(POLLIN), revents: 0)
      // poll() reads and writes one pollfd.
      guard unsafe poll(&wanted, 1, 300_000) == 1 else { throw SystemError("await a connection", code: ETIMEDOUT) }
      let number = Glibc.accept(listener.number, nil, nil)
      guard number >= 0 else { throw SystemError("accept") }
      return Connection(descriptor: Descriptor(owning: number))
    }
  }

  final class Connection: Sendable {
    let descriptor: Descriptor
    private let rest = Mutex<[UInt8]>([])

    init(descriptor: Descriptor) {
      self.descriptor = descriptor
      var limit = timeval(tv_sec: 300, tv_usec: 0)
      // setsockopt() reads one timeval.
      _ = unsafe setsockopt(
        descriptor.number, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    // shutdown() ends the connection even if a child process of another test has inherited the descriptor; close()
    // would not.
    deinit { _ = shutdown(descriptor.number, Int32(SHUT_RDWR)) }

    /// Reads one message.
    ///
    /// Returns nil at the end of the connection.
    func message(until separator: UInt8 = UInt8(ascii: "\n")) async throws -> [String: JSONValue]? {
      let (descriptor, begun) = (descriptor, rest.withLock { $0 })
      let found = try await onThread { () -> ([UInt8], [UInt8])? in
        var bytes = begun
        var piece = [UInt8](repeating: 0, count: 65_536)
        var searched = 0
        while true {
          if let end = bytes[searched...].firstIndex(of: separator) {
            return (Array(bytes[..<end]), Array(bytes[(end + 1)...]))
          }
          searched = bytes.count
          // Invariant: recv() writes at most as many bytes as the array has.
          let count = unsafe recv(descriptor.number, &piece, piece.count, 0)
          guard count > 0 else { return nil }
          bytes += piece[..<count]
        }
      }
      guard let (bytes, more) = found else { return nil }
      rest.withLock { $0 = more }
      return JSONValue.members(of: bytes, depth: 64, isStreamSafe: false)
    }

    /// Waits until crashd has closed the connection, without reading from it.
    func hangUp() async throws {
      let descriptor = descriptor
      try await onThread {
        var wanted = pollfd(fd: descriptor.number, events: 0, revents: 0)
        // Invariant: poll() reads and writes one pollfd. poll() always reports POLLHUP, even if no event is requested.
        guard unsafe poll(&wanted, 1, 300_000) == 1 else { throw SystemError("wait for a hang-up", code: ETIMEDOUT) }
      }
    }

    func send(_ text: String) throws {
      let bytes = Array(text.utf8)
      // send() reads as many bytes as the array has.
      guard unsafe Glibc.send(descriptor.number, bytes, bytes.count, Int32(MSG_NOSIGNAL)) == bytes.count else {
        throw SystemError("send")
      }
    }

    func acknowledge(_ message: [String: JSONValue]) throws {
      try send("{\"ack\":\"\(message.string("cursor") ?? "")\"}\n")
    }
  }
}

@Suite("Forwarding to collectors")
struct ForwarderTests {
  private func collecting(
    _ body: (TestDaemon, String) async throws -> Void, limits: Limits = .patient,
    _ change: @escaping (inout ForwardSettings) -> Void = { _ in }
  ) async throws {
    let directory = try TestDirectory()
    let path = "\(directory.path)/c"
    var forward = ForwardSettings(path: path)
    change(&forward)
    let wanted = forward
    // The test stores its reports in `body`, because a new collector receives only reports that are stored after
    // crashd's start.
    try await TestDaemon.run(limits: limits, configure: { $0.settings.forward = [wanted] }) { daemon in
      try await body(daemon, path)
    }
  }

  private func put(_ ids: [String], in daemon: TestDaemon) throws {
    for id in ids { _ = try daemon.store.put(.sample(id: id), raw: []) }
    daemon.hub.notify()
  }

  @Test("a collector that starts late and disconnects twice gets every event, in order")
  func dies() async throws {
    try await collecting({ daemon, path in
      let ids = (0..<60).map { "aa\(100 + $0)" }
      try put(Array(ids[..<20]), in: daemon)
      let collector = try TestCollector(path: path)
      var kept: [String] = []
      // On each connection, the collector acknowledges some of the events that it reads, and closes the connection
      // before it acknowledges the others.
      for (read, acknowledged) in [(7, 5), (12, 12)] {
        let connection = try await collector.accept()
        for index in 0..<read {
          let message = try #require(try await connection.message())
          guard index < acknowledged else { continue }
          try connection.acknowledge(message)
          kept.append(message.string("id") ?? "")
        }
      }
      try put(Array(ids[20...]), in: daemon)
      let connection = try await collector.accept()
      while Set(kept).count < ids.count {
        let message = try #require(try await connection.message())
        try connection.acknowledge(message)
        kept.append(message.string("id") ?? "")
      }
      // All events arrive in order. An event can arrive twice if the connection ended before crashd read the
      // acknowledgment.
      var seen: Set<String> = []
      #expect(kept.filter { seen.insert($0).inserted } == ids)
    }) { $0.acknowledges = true }
  }

  @Test("unreadable events at any position are counted as lost, and the readable events are forwarded")
  func unreadable() async throws {
    try await collecting({ daemon, path in
      for id in ["aa", "bb", "cc", "dd", "ee"] { _ = try daemon.store.put(.sample(id: id), raw: []) }
      for id in ["aa", "bb", "dd"] { try daemon.spoil(id) }
      let collector = try TestCollector(path: path)
      daemon.hub.notify()
      let connection = try await collector.accept()
      for (id, lost) in [("cc", JSONValue.int(3)), ("ee", nil)] {
        let message = try #require(try await connection.message())
        #expect(message.string("id") == id)
        #expect(message["lost"] == lost)
        try connection.acknowledge(message)
      }
    }) { $0.acknowledges = true }
  }

  /// Stores reports with more bytes than a socket buffer can hold.
  ///
  /// Therefore crashd must wait until the collector reads.
  private func putLarge(_ ids: [String], in daemon: TestDaemon) throws {
    for id in ids { _ = try daemon.store.put(.sample(id: id, bytes: 100_000), raw: []) }
    daemon.hub.notify()
  }

  private static let impatient: Limits = {
    var limits = Limits.patient
    limits.collector_ms = 1_000
    return limits
  }()

  @Test("a collector that never reads is disconnected, others are not delayed; unacknowledged events are sent again")
  func neverReads() async throws {
    try await collecting(
      { daemon, path in
        let collector = try TestCollector(path: path)
        let ids = (0..<4).map { "aa\($0)" }
        try putLarge(ids, in: daemon)
        let deaf = try await collector.accept()
        // Although this collector does not read, crashd stores crashes and sends them to other subscribers.
        let client = try await daemon.client()
        try await client.send(
          "io.crashshield.Crashd.Subscribe", ["cursor": .string("\(daemon.store.epoch)-0")], more: true)
        _ = try await client.reply()
        for id in ids {
          #expect(try await client.reply().object("parameters").object("report").string("id") == id)
        }
        try await deaf.hangUp()
        var kept: [String] = []
        while Set(kept).count < ids.count {
          // The loop accepts further connections, because crashd can also disconnect a collector that reads if the
          // machine stalls.
          let other = try await collector.accept()
          while Set(kept).count < ids.count, let message = try await other.message() {
            do { try other.acknowledge(message) } catch { break }
            kept.append(message.string("id") ?? "")
          }
        }
        var seen: Set<String> = []
        #expect(kept.filter { seen.insert($0).inserted } == ids)
        #expect(daemon.log.contains("the collector did not accept or acknowledge an event within 1000 ms"))
      }, limits: Self.impatient
    ) { ($0.acknowledges, $0.scrubs) = (true, false) }
  }

  @Test(
    "acknowledgements are used even if the connection ends before the end of the page"
  )
  func slow() async throws {
    try await collecting(
      { daemon, path in
        let collector = try TestCollector(path: path)
        let ids = (0..<4).map { "aa\($0)" }
        try putLarge(ids, in: daemon)
        // On each connection, the collector acknowledges one event, never a whole page of events. If only
        // acknowledgments of whole pages counted, crashd would send the first event forever.
        var kept: [String] = []
        while Set(kept).count < ids.count {
          let connection = try await collector.accept()
          guard let message = try await connection.message() else { continue }
          do { try connection.acknowledge(message) } catch { continue }
          kept.append(message.string("id") ?? "")
          if Set(kept).count < ids.count { try await connection.hangUp() }
        }
        var seen: Set<String> = []
        #expect(kept.filter { seen.insert($0).inserted } == ids)
      }, limits: Self.impatient
    ) { ($0.acknowledges, $0.scrubs) = (true, false) }
  }

  @Test("a collector that only reads may shut down the writing side of its connection")
  func readsOnly() async throws {
    try await collecting({ daemon, path in
      let collector = try TestCollector(path: path)
      try put(["aa"], in: daemon)
      let connection = try await collector.accept()
      try connection.send("whatever it says without being asked, with no end to the line")
      guard shutdown(connection.descriptor.number, Int32(SHUT_WR)) == 0 else { throw SystemError("shut down") }
      #expect(try await connection.message()?.string("id") == "aa")
      try put(["bb"], in: daemon)
      #expect(try await connection.message()?.string("id") == "bb")
    })
  }

  @Test("if a collector is set to acknowledge nothing, events that were written to the socket are not sent again")
  func plain() async throws {
    try await collecting({ daemon, path in
      let collector = try TestCollector(path: path)
      try put(["aa", "bb"], in: daemon)
      var connection: TestCollector.Connection? = try await collector.accept()
      #expect(try await connection?.message()?.string("id") == "aa")
      #expect(try await connection?.message()?.string("id") == "bb")
      let client = try await daemon.client()
      let name = "forward \(path)"
      try await client.until { try daemon.store.cursor(ofSubscriber: name, uid: geteuid()).sequence == 2 }
      connection = nil
      try put(["cc"], in: daemon)
      #expect(try await collector.accept().message()?.string("id") == "cc")
    })
  }

  @Test("a Varlink collector gets each event as a call, whose reply acknowledges it")
  func varlink() async throws {
    try await collecting({ daemon, path in
      let collector = try TestCollector(path: path)
      try put(["aa", "bb"], in: daemon)
      let first = try await collector.accept()
      let call = try #require(try await first.message(until: 0))
      #expect(call.string("method") == "io.crashshield.Collector.Report")
      #expect(call.object("parameters").string("id") == "aa")
      try first.send("{\"parameters\":{}}\0")
      _ = try await first.message(until: 0)
      try first.send("{\"error\":\"com.example.Full\"}\0")
      // The first reply was an error, so crashd sends the event again.
      let second = try await collector.accept()
      #expect(try await second.message(until: 0)?.object("parameters").string("id") == "bb")
      try second.send("{\"parameters\":{}}\0")
      let client = try await daemon.client()
      let name = "forward \(path)"
      try await client.until { try daemon.store.cursor(ofSubscriber: name, uid: geteuid()).sequence == 2 }
      #expect(daemon.log.contains("the collector refused an event: com.example.Full"))
    }) { $0.format = .varlink }
  }

  @Test(
    "malformed messages of a collector end its connection",
    arguments: [
      "{\"ack\":\"0123456789abcdef-1\"}\n", "hello\n", "{}\n", "{\"ack\":1}\n", "[[[[\n", "\u{0}\n",
    ])
  func hostile(answer: String) async throws {
    try await collecting({ daemon, path in
      let collector = try TestCollector(path: path)
      try put(["aa"], in: daemon)
      let first = try await collector.accept()
      _ = try await first.message()
      try first.send(answer)
      // After the wrong reply, crashd has closed the connection, and sends the event again.
      #expect(try await collector.accept().message()?.string("id") == "aa")
      #expect(daemon.log.contains("the collector's answer is not an acknowledgement"))
    }) { $0.acknowledges = true }
  }

  @Test(
    "an unfinished or unexpected answer ends the connection, and the event is sent again",
    arguments: [true, false])
  func unasked(isEndless: Bool) async throws {
    try await collecting({ daemon, path in
      let collector = try TestCollector(path: path)
      try put(["aa"], in: daemon)
      let first = try await collector.accept()
      _ = try await first.message(until: 0)
      try first.send(isEndless ? String(repeating: "x", count: 5_000) : "{\"parameters\":{}}\0{\"parameters\":{}}\0")
      try await first.hangUp()
      let client = try await daemon.client()
      let name = "forward \(path)"
      if !isEndless {
        // The first of the two replies acknowledges the event. The second one, which is unexpected, ends the
        // connection.
        try await client.until { try daemon.store.cursor(ofSubscriber: name, uid: geteuid()).sequence == 1 }
        try put(["bb"], in: daemon)
      }
      let second = try await collector.accept()
      #expect(try await second.message(until: 0)?.object("parameters").string("id") == (isEndless ? "aa" : "bb"))
    }) { $0.format = .varlink }
  }

  @Test("a collector receives the count of events that were removed before it connected")
  func lost() async throws {
    try await collecting({ daemon, path in
      try put(["aa", "bb"], in: daemon)
      _ = try daemon.store.remove(idPrefix: "aa")
      let collector = try TestCollector(path: path)
      let message = try #require(try await collector.accept().message())
      #expect(message.string("id") == "bb" && message.int("lost") == 1)
    })
  }

  @Test("a collector's filter skips events, and its cursor moves past them")
  func filtered() async throws {
    try await collecting({ daemon, path in
      try put(["aa"], in: daemon)
      let client = try await daemon.client()
      let name = "forward \(path)"
      try await client.until { try daemon.store.cursor(ofSubscriber: name, uid: geteuid()).sequence == 1 }
    }) { $0.filter.name = "no-such-program" }
  }

  @Test("forwarded reports are scrubbed: annotations by key, strings by pattern, user names in paths")
  func scrubbed() throws {
    var report = try CrashReport.sample(id: "aa")
    report.annotations = ["DB_PASSWORD": "hunter2", "region": "north", "mail": "to anna@example.org, please"]
    report.reason = "no file /home/anna/secret.txt for Bearer abc.def-1"
    report.process.executable = "/home/anna/bin/shop"
    report.process.commandLine = "shop --password 'hunter 2' -c 'DB_TOKEN=hunter2 x'"
    let json = try TextScrubber(PrivacySettings()).scrub(report: JSONFragment(report).value())
    guard case .object(let members) = json else { throw SystemError("scrub", code: EINVAL) }
    #expect(
      members.object("annotations") == [
        "DB_PASSWORD": .string("[scrubbed]"), "region": .string("north"), "mail": .string("to [scrubbed], please"),
      ])
    #expect(members.string("reason") == "no file /home/[user]/secret.txt for [scrubbed]")
    #expect(members.object("process").string("executable") == "/home/[user]/bin/shop")
    #expect(
      members.object("process").string("commandLine") == "shop --password [scrubbed] -c 'DB_TOKEN=[scrubbed] x'")
    #expect(members.string("id") == "aa")
    var closed = PrivacySettings()
    closed.commandLine = false
    let without = try TextScrubber(closed).scrub(report: JSONFragment(report).value())
    guard case .object(let others) = without else { throw SystemError("scrub", code: EINVAL) }
    #expect(others.object("process").string("commandLine") == nil)
    var open = PrivacySettings()
    (open.annotations, open.patterns, open.homeDirectories) = ([], [], false)
    let stored = try JSONFragment(report).value()
    #expect(try TextScrubber(open).scrub(report: stored) == stored)
  }

  @Test("a scrub pattern that matches addresses scrubs texts and annotations only, and the report stays decodable")
  func addresses() throws {
    var report = try CrashReport.sample(id: "aa")
    let address = "0x3132333435363738"
    report.reason = address
    report.annotations = ["at": address]
    report.breadcrumbs = [CrashReport.Breadcrumb(time: report.time, text: address)]
    report.threads = [
      CrashReport.CrashedThread(
        tid: 7, name: address, crashed: true, frames: [], registers: ["rax": 0x3132_3334_3536_3738])
    ]
    var settings = PrivacySettings()
    settings.patterns = ["[0-9]{16}"]
    let json = try TextScrubber(settings).scrub(report: JSONFragment(report).value())
    let scrubbed = try JSONDecoder().decode(CrashReport.self, from: JSONEncoder().encode(json))
    #expect(scrubbed.threads[0].registers == report.threads[0].registers)
    #expect(scrubbed.threads[0].name == "0x[scrubbed]" && scrubbed.reason == "0x[scrubbed]")
    #expect(scrubbed.annotations == ["at": "0x[scrubbed]"] && scrubbed.breadcrumbs[0].text == "0x[scrubbed]")
    #expect(scrubbed.signal == report.signal && scrubbed.process == report.process)
  }
}

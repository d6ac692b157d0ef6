import CrashClient
import CrashControl
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

@Suite("EventStream")
struct EventStreamTests {
  @Test("ready and events arrive in order, even if they are in one packet")
  func order() throws {
    let daemon = try FakeDaemon { connection in
      guard let call = connection.call(), call.contains(#""more":true"#), call.contains(#""cursor":"c0""#) else {
        return connection.reply("{}", error: "io.crashshield.Crashd.TheCallIsWrong")
      }
      let events = ["c1", "c2"].map { cursor in
        #"{"continues":true,"parameters":{"cursor":"\#(cursor)","report":\#(SampleJSON.report(id: "id-" + cursor))}}"#
      }
      connection.send(([#"{"continues":true,"parameters":{"ready":true}}"#] + events).joined(separator: "\0") + "\0")
      connection.reply("{}")
    }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe(after: "c0")
    #expect(try stream.next() == .ready)
    for expected in ["c1", "c2"] {
      guard case .report(let received, let cursor) = try stream.next() else {
        Issue.record("no event \(expected)")
        return
      }
      #expect(cursor == expected)
      #expect(received.report.id == "id-" + expected)
    }
    #expect(try stream.next() == nil)
    #expect(try stream.next() == nil)
  }

  @Test("an error reply ends the event stream")
  func error() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"cursor":"old"}"#, error: "io.crashshield.Crashd.InvalidCursor")
    }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe(after: "old")
    #expect(throws: ClientError.refused(.invalidCursor("old"))) { try stream.next() }
  }

  @Test("a crashd that answers with a list of incidents is reported as too old to stream them")
  func oldDaemon() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"incidents":[]}"#)
    }
    defer { daemon.stop() }
    let error = #expect(throws: ClientError.self) {
      _ = try CrashClient(socketPath: daemon.socketPath).followIncidents().next()
    }
    #expect(
      error.map { Failure($0).message }
        == "crashd is older than crashctl and cannot stream incidents; update crashd")
  }

  @Test("an event without a cursor is an error, because no client could resume after it")
  func withoutCursor() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"report":\#(SampleJSON.report(id: "ab"))}"#, continues: true)
    }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe()
    #expect(throws: ClientError.malformedReply("an event without a cursor")) { try stream.next() }
  }

  @Test("an unreadable event is reported with its cursor, even as the first one, and the stream continues")
  func unreadable() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"cursor":"c1","report":{"id":7}}"#, continues: true)
      connection.reply(#"{"cursor":"c2","report":\#(SampleJSON.report(id: "ab"))}"#, continues: true)
    }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe().begun()
    do throws(ClientError) {
      _ = try stream.next()
      Issue.record("the unreadable event was read")
    } catch {
      guard case .malformedReply = error else {
        Issue.record("\(error)")
        return
      }
    }
    #expect(stream.unreadableCursor == "c1")
    guard case .report(_, cursor: "c2") = try stream.next() else {
      Issue.record("no second event")
      return
    }
    #expect(stream.unreadableCursor == nil)
  }

  @Test(
    "the client reads the cursor of an event that is too large if the cursor precedes the report",
    arguments: [
      (#"{"cursor":"c1","report":{"cursor":"c9","#, "c1"), (#"{"report":{"cursor":"c9","#, nil),
      (#"{"cursor":"c\u0031","report":{"#, nil), (#"{"cursor":"","report":{"#, nil), (#"{"#, nil),
    ] as [(String, String?)])
  func tooLarge(beginning: String, cursor: String?) throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.send(#"{"parameters":"# + beginning + #""x":""# + String(repeating: "x", count: 1 << 20))
      connection.waitForHangup()
    }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath, messageLimitBytes: 4_096).subscribe()
    #expect(throws: ClientError.messageTooLarge(limitBytes: 4_096)) { try stream.next() }
    #expect(stream.unreadableCursor == cursor)
  }

  @Test("an event stream is closed if crashd disconnects it")
  func cutOff() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"ready":true}"#, continues: true)
    }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe()
    #expect(try stream.next() == .ready)
    #expect(throws: ClientError.closed(path: daemon.socketPath)) { try stream.next() }
  }

  @Test("a wait for events ends when the reader of the program's output hangs up")
  func hangup() throws {
    let daemon = try FakeDaemon { connection in
      _ = connection.call()
      connection.reply(#"{"ready":true}"#, continues: true)
      connection.waitForHangup()
    }
    defer { daemon.stop() }
    var ends: [Int32] = [0, 0]
    // Invariant: the pointer covers the two elements that pipe() writes.
    try #require(unsafe pipe(&ends) == 0)
    // Without FD_CLOEXEC, a child process of another test would keep this end of the pipe open.
    for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    defer { close(ends[1]) }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe()
    #expect(try stream.next(hangup: ends[1]) == .ready)
    close(ends[0])
    #expect(throws: ClientError.cancelled) { try stream.next(hangup: ends[1]) }
  }

  @Test("a wait for events ends at its time limit")
  func timeout() throws {
    let daemon = try FakeDaemon { $0.waitForHangup() }
    defer { daemon.stop() }
    let stream = try CrashClient(socketPath: daemon.socketPath).subscribe()
    #expect(throws: ClientError.timedOut(path: daemon.socketPath)) { try stream.next(timeout: .milliseconds(30)) }
  }
}

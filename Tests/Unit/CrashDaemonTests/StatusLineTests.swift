import CrashReport
import CrashStore
import LinuxSystem
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The status line of systemd")
struct StatusLineTests {
  @Test(
    "the status line has the counts and the time of the last crash",
    arguments: zip(
      [(0, nil, nil), (1, 0, nil), (12, 1, "2026-11-23T14:02:11.000000Z"), (2, 30, nil)] as [(Int, Int?, String?)],
      [
        "No process attached", "1 process attached, no crash kept",
        "12 processes attached, 1 crash kept, newest 2026-11-23 14:02 UTC", "2 processes attached, 30 crashes kept",
      ]))
  func texts(numbers: (Int, Int?, String?), text: String) {
    #expect(StatusLine.text(processes: numbers.0, crashes: numbers.1, newest: numbers.2) == text)
  }

  @Test("the status line is sent only when it changes, and shows a store outage before the counts")
  func changes() async throws {
    let directory = try TestDirectory()
    let systemd = try NotifySocket(in: directory)
    let daemon = try TestDaemon(TestDirectory())
    let line = StatusLine(
      notifier: Notifier(environment: ["NOTIFY_SOCKET": systemd.path]), store: daemon.store, hub: daemon.hub,
      interval_ms: 1)
    let running = Task { try await line.run() }
    #expect(try await systemd.next() == "STATUS=No process attached, no crash kept")
    // The same count again sends no message, so the next message is for the later count.
    line.note(processes: 0)
    line.note(processes: 2)
    var next = try await systemd.next()
    #expect(next == "STATUS=2 processes attached, no crash kept")
    let report = try CrashReport.sample(id: "aa")
    _ = try daemon.store.put(report, raw: [])
    daemon.hub.notify()
    let newest = report.time.prefix(16).replacing("T", with: " ")
    next = try await systemd.next()
    #expect(next == "STATUS=2 processes attached, 1 crash kept, newest \(newest) UTC")
    line.note(outage: "the disk is full")
    #expect(try await systemd.next() == "STATUS=CANNOT STORE: the disk is full")
    line.note(processes: 3)
    line.note(outage: nil)
    next = try await systemd.next()
    #expect(next == "STATUS=3 processes attached, 1 crash kept, newest \(newest) UTC")
    running.cancel()
    _ = await running.result
    #expect(try systemd.receive() == nil)
  }
}

import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

@testable import crash_forward

@Suite("JournalSink")
struct JournalSinkTests {
  @Test("a one-line journal field has an equals sign; any other field has its length in eight bytes")
  func encoding() {
    var entry = JournalEntry()
    entry.add("A", "one = 1")
    entry.add("EMPTY", "")
    entry.add("NONE", nil as String?)
    entry.add("B", "two\nlines")
    #expect(entry.bytes == Array("A=one = 1\nB\n".utf8) + [9, 0, 0, 0, 0, 0, 0, 0] + Array("two\nlines\n".utf8))
  }

  @Test("release, environment, user, machine and process are fields of the journal entry and the coredumpctl entry")
  func facts() throws {
    let report = try Sample.event(id: "aa11", more: Sample.facts).report
    let entry = JournalEntry(report, json: nil)
    let wanted = [
      "CRASH_RELEASE": "shop@2/4", "CRASH_ENVIRONMENT": "staging", "CRASH_USER": "17", "CRASH_HOST": "web-3",
      "CRASH_MACHINE_ID": "43c2", "CRASH_KERNEL": "Linux 6.1.0", "CRASH_CMDLINE": "shop --port 80",
      "CRASH_CGROUP": "/docker/c0ff", "CRASH_CONTAINER_ID": "c0ff", "CRASH_SWIFT_VERSION": "6.3",
      "CRASH_ARCHITECTURE": "aarch64",
      "CRASH_UPTIME_MS": "611000", "CRASH_MEMORY": "430", "CRASH_MEMORY_PEAK": "498", "CRASH_MEMORY_LIMIT": "512",
      "CRASH_OPEN_FDS": "87",
    ]
    for (name, value) in wanted { #expect(entry[name] == value, "\(name)") }
    let core = JournalEntry(coredumpOf: report)
    #expect(core["COREDUMP_HOSTNAME"] == "web-3" && core["COREDUMP_CMDLINE"] == "shop --port 80")
    #expect(try JournalEntry(Sample.event(id: "aa11").report, json: nil)["CRASH_HOST"] == nil)
  }

  @Test("the journal entry has the container and its pod as fields")
  func pod() throws {
    let entry = JournalEntry(try Sample.event(id: "aa11", more: Sample.pod).report, json: nil)
    let wanted = [
      "CRASH_CONTAINER_ID": "c0ff", "CRASH_CONTAINER_RUNTIME": "containerd", "CRASH_CONTAINER_NAME": "web",
      "CRASH_POD": "shop-7c5", "CRASH_POD_UID": "2f7a", "CRASH_NAMESPACE": "production", "CRASH_NODE": "node-2",
    ]
    for (name, value) in wanted { #expect(entry[name] == value, "\(name)") }
    let other = JournalEntry(try Sample.event(id: "aa11").report, json: nil)
    for name in wanted.keys { #expect(other[name] == nil, "\(name)") }
  }

  @Test("the journal entry has the request of the crash and its trace as fields")
  func request() throws {
    let entry = JournalEntry(try Sample.event(id: "aa11", more: Sample.request).report, json: nil)
    let wanted = [
      "CRASH_REQUEST": "GET /cart/{id}", "CRASH_REQUEST_ID": "7F3A", "CRASH_REQUESTS_IN_FLIGHT": "51",
      "CRASH_TRACE_ID": "4bf92f3577b34da6a3ce929d0e0e4736", "CRASH_SPAN_ID": "00f067aa0ba902b7",
    ]
    for (name, value) in wanted { #expect(entry[name] == value, "\(name)") }
    let other = JournalEntry(try Sample.event(id: "aa11").report, json: nil)
    for name in wanted.keys { #expect(other[name] == nil, "\(name)") }
  }

  @Test("the journal entry has the verdict and the end of the drain, if containment was on")
  func containment() throws {
    let entry = JournalEntry(try Sample.event(id: "aa11", more: Sample.containment).report, json: nil)
    let wanted = [
      "CRASH_CONTAINMENT": Sample.containmentText, "CRASH_VERDICT": "drain", "CRASH_DRAIN_END": "done",
    ]
    for (name, value) in wanted { #expect(entry[name] == value, "\(name)") }
    let other = JournalEntry(try Sample.event(id: "aa11").report, json: nil)
    for name in wanted.keys { #expect(other[name] == nil, "\(name)") }
  }

  @Test("a crash arrives in the journal with field names that journald allows")
  func fields() throws {
    let journal = try DatagramListener()
    defer { journal.close() }
    let event = try Sample.event(id: "aa11")
    #expect(JournalSink(socketPath: journal.path).deliver(event) == .delivered)
    let message = try journal.receive()
    #expect(!message.isFile)
    let fields = JournalText.fields(message.bytes)
    #expect(fields["MESSAGE_ID"] == JournalEntry.messageID)
    #expect(fields["PRIORITY"] == "2")
    #expect(fields["CRASH_ID"] == "aa11")
    #expect(fields["CRASH_GROUP"] == "k")
    #expect(fields["CRASH_SIGNAL"] == "SIGILL")
    #expect(fields["CRASH_PID"] == "4711")
    #expect(fields["CRASH_FILE"] == "/src/Cart.swift")
    #expect(fields["CRASH_LINE"] == "42")
    #expect(fields["CRASH_STACK"] == "#0 0x401000 checkout() at /src/Cart.swift:42")
    #expect(
      fields["MESSAGE"]?.hasPrefix("shop[4711] crashed by SIGILL: An index was out of range in checkout().\n\n#0")
        == true)
    let json = try #require(fields["CRASH_REPORT"])
    #expect(try ReportCoding.decode(json.utf8).id == "aa11")
    for name in fields.keys {
      #expect(name.utf8.count <= 64 && name.utf8.allSatisfy { $0 == 0x5f || (0x41...0x5a).contains($0) })
      #expect(!name.hasPrefix("_"))
    }
  }

  @Test("a journal entry that is too long for a datagram is sent as a sealed file")
  func large() throws {
    let journal = try DatagramListener()
    defer { journal.close() }
    let long = String(repeating: "x", count: 1 << 20)
    let event = try Sample.event(id: "aa11", more: #""annotations":{"note":"\#(long)"},"#)
    #expect(JournalSink(socketPath: journal.path).deliver(event) == .delivered)
    let message = try journal.receive()
    #expect(message.isFile)
    // 0xf is F_SEAL_SEAL, F_SEAL_SHRINK, F_SEAL_GROW and F_SEAL_WRITE. The mask ignores F_SEAL_EXEC, which some kernels
    // add to a memfd.
    #expect(message.seals & 0xf == 0xf)
    let fields = JournalText.fields(message.bytes)
    #expect(fields["CRASH_REPORT"]?.contains(long) == true)
    #expect(fields["CRASH_ID"] == "aa11")
  }

  @Test("a journal entry without the report has no CRASH_REPORT")
  func withoutReport() throws {
    let journal = try DatagramListener()
    defer { journal.close() }
    let sink = JournalSink(socketPath: journal.path, includesReport: false)
    #expect(sink.deliver(try Sample.event(id: "aa11")) == .delivered)
    #expect(JournalText.fields(try journal.receive().bytes)["CRASH_REPORT"] == nil)
  }

  @Test("the entry for coredumpctl follows the sink's own entry, and only if it is configured")
  func coredump() throws {
    let journal = try DatagramListener()
    defer { journal.close() }
    let sink = JournalSink(socketPath: journal.path, imitatesCoredump: true)
    #expect(sink.deliver(try Sample.event(id: "aa11")) == .delivered)
    #expect(JournalText.fields(try journal.receive().bytes)["MESSAGE_ID"] == JournalEntry.messageID)
    let fields = JournalText.fields(try journal.receive().bytes)
    #expect(fields["MESSAGE_ID"] == "fc2e22bc6ee647b6b90729ab34a250b1")
    #expect(fields["COREDUMP_PID"] == "4711")
    #expect(fields["COREDUMP_SIGNAL"] == "4")
    #expect(fields["COREDUMP_EXE"] == "/srv/shop")
    // The time of the crash in microseconds since 1970: 2026-11-21T08:10:11.000123Z.
    #expect(fields["COREDUMP_TIMESTAMP"] == "1795248611000123")
  }

  @Test("if the journal's socket is missing, the event is retried later")
  func absent() throws {
    let sink = JournalSink(socketPath: "/nonexistent/journal/socket")
    #expect(
      sink.deliver(try Sample.event(id: "aa11"))
        == .later("cannot write to '/nonexistent/journal/socket': No such file or directory"))
  }
}

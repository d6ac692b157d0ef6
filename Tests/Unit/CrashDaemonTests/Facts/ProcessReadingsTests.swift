import CLinux
import CrashReport
import CrashRing
import Glibc
import LinuxSystem
import Testing

@testable import CrashDaemon

@Suite("Readings of a process")
struct ProcessReadingsTests {
  private func facts(pid: Int32 = getpid()) throws -> ProcessFacts {
    let source = try RingSource(memory: TestRing().memory())
    return ProcessFacts(source.contents(), peer: Peer(pid: pid, uid: geteuid()), unit: nil)
  }

  private func pidfd() throws -> Descriptor {
    var number: Int32 = -1
    // cd_process_open() writes one number.
    try SystemError.check(unsafe cd_process_open(getpid(), &number), "open a pidfd")
    return Descriptor(owning: number)
  }

  @Test("if an exiting process has released its memory, the last reading before its exit is kept")
  func last() throws {
    let (readings, pidfd) = (ProcessReadings(), try pidfd())
    readings.measure(try facts(), pidfd)
    let first = readings.added(to: ProcessContext()).resources
    #expect(first?.residentBytes ?? 0 > 1 << 20)
    readings.measure(try facts(pid: 1 << 30), pidfd)
    #expect(readings.added(to: ProcessContext()).resources == first)
  }

  @Test("a process that wakes crashd twice for one crash is read once")
  func crash() throws {
    let (readings, pidfd, facts) = (ProcessReadings(), try pidfd(), try facts())
    readings.measure(facts, pidfd)
    readings.measure(facts, pidfd, isOfCrash: true)
    let first = try #require(readings.added(to: ProcessContext()).resources)
    #expect(!readings.measure(facts, pidfd, isOfCrash: true))
    #expect(readings.added(to: ProcessContext()).resources == first)
  }

  @Test("a crash whose process cannot be read is also retried only once a second")
  func unreadable() throws {
    let (readings, pidfd, facts) = (ProcessReadings(), try pidfd(), try facts(pid: 1 << 30))
    #expect(readings.measure(facts, pidfd, isOfCrash: true))
    #expect(!readings.measure(facts, pidfd, isOfCrash: true))
    #expect(readings.added(to: ProcessContext()).resources == nil)
  }

  @Test("the reading at the crash is not replaced by a later one; an exit without a record uses the latest reading")
  func afterCrash() throws {
    let (readings, pidfd, facts) = (ProcessReadings(), try pidfd(), try facts())
    readings.measure(facts, pidfd, isOfCrash: true)
    let first = try #require(readings.added(to: ProcessContext()).resources)
    readings.measure(facts, pidfd)
    #expect(readings.added(to: ProcessContext()).resources == first)
    let last = try #require(readings.added(to: ProcessContext(), isOfCrash: false).resources)
    #expect(last.time > first.time)
  }

  @Test("readings of a pid that now belongs to another process are discarded")
  func reused() throws {
    var child: pid_t = 0
    var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [nil]
    // Invariant: the array ends with nil, and exists until the call has returned.
    #expect(unsafe posix_spawn(&child, "/bin/true", nil, nil, &arguments, nil) == 0)
    var number: Int32 = -1
    // cd_process_open() writes one number. Invariant: the child exists until it is reaped.
    try SystemError.check(unsafe cd_process_open(child, &number), "open a pidfd")
    let pidfd = Descriptor(owning: number)
    while waitpid(child, nil, 0) < 0, errno == EINTR {}
    let readings = ProcessReadings()
    // The facts have the pid of another running process, as if the kernel had reused the pid.
    #expect(readings.measure(try facts(), pidfd))
    #expect(readings.added(to: ProcessContext()).resources == nil)
  }

  @Test("F23: if no permit is free, a command line is read later")
  func place() async throws {
    let (readings, pidfd, facts) = (ProcessReadings(), try pidfd(), try facts())
    let waiting = WaitingReads()
    for _ in 0..<WaitingReads.limit { #expect(waiting.begin(7)) }
    #expect(!waiting.begin(7) && waiting.begin(8))
    readings.readLater(facts, pidfd, of: 7, PrivacySettings(), waiting: waiting)
    _ = await ForeignFileWork.shared.result(of: geteuid(), at: "command lines", timeout_ms: 600_000) {}
    #expect(readings.added(to: ProcessContext()).commandLine == nil)
    waiting.end(7)
    readings.readLater(facts, pidfd, of: 7, PrivacySettings(), waiting: waiting)
    // ForeignFileWork does a user's work on one device in order, so this work ends after the reading of the command
    // line.
    _ = await ForeignFileWork.shared.result(of: geteuid(), at: "command lines", timeout_ms: 600_000) {}
    #expect(readings.added(to: ProcessContext()).commandLine != nil)
    #expect(waiting.begin(7))
  }

  @Test("with privacy.command-line false no command line is read")
  func noCommandLine() async throws {
    let (readings, pidfd, facts) = (ProcessReadings(), try pidfd(), try facts())
    var privacy = PrivacySettings()
    privacy.commandLine = false
    readings.readLater(facts, pidfd, of: 7, privacy, waiting: WaitingReads())
    _ = await ForeignFileWork.shared.result(of: geteuid(), at: "command lines", timeout_ms: 600_000) {}
    #expect(readings.added(to: ProcessContext()).commandLine == nil)
  }

  @Test("a value that crashd read at the attach is kept if a later reading has none")
  func merged() {
    var known = ProcessContext()
    known.container = CrashReport.Container(id: "c0ff", source: "cgroup")
    known.commandLine = "shop"
    #expect(ProcessReadings().added(to: known) == known)
  }

  @Test("a report without memory has no command line; a report of a process with more privileges has none either")
  func withheld() throws {
    for (mode, isRestricted, isThere) in [
      (RingContents.MemoryFacts.Mode.scrubbed, false, true), (.full, false, true), (.none, false, false),
      (.withheld, false, false), (.scrubbed, true, false),
    ] {
      var contents = RingContents.sample([.sample()])
      contents.memory.mode = mode
      var facts = ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil)
      (facts.context.commandLine, facts.isRestricted) = ("shop --port 80", isRestricted)
      let report = try #require(ReportBuilder(contents, process: facts, symbols: SampleSymbols()).report(id: "aa"))
      #expect((report.process.commandLine != nil) == isThere, "\(mode) \(isRestricted)")
    }
  }

  @Test("a re-analysis keeps the machine and process facts of the first analysis")
  func again() throws {
    let contents = RingContents.sample([.sample()])
    var facts = ProcessFacts(contents, peer: Peer(pid: 7, uid: 1000), unit: nil)
    facts.context.machine = MachineFacts.here
    (facts.context.cgroup, facts.context.commandLine) = ("/a", "shop")
    facts.context.resources = CrashReport.Resources(time: "2026-11-21T08:00:00Z")
    let first = try #require(ReportBuilder(contents, process: facts, symbols: SampleSymbols()).report(id: "aa"))
    var second = ReportBuilder(
      contents, process: ProcessFacts(contents, peer: facts.peer, unit: nil), symbols: SampleSymbols())
    second.context = ProcessContext(first)
    #expect(second.report(id: "aa") == first && first.machine != nil && first.process.cgroup == "/a")
  }
}

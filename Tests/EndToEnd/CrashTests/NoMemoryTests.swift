import CrashClient
import CrashProtocol
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests that crashd stores none of a program's memory if memory capture is off for the program.
///
/// The program itself or a no-memory rule in crashd's settings switches it off.
@Suite("Programs without memory capture")
struct NoMemoryTests {
  /// A shim-host process that has read a secret into its memory.
  private struct Host {
    /// The secret, a random string that differs in each run.
    ///
    /// No file of the program or of the test contains the secret.
    let secret = "orchid-" + (0..<24).map { _ in String(UInt8.random(in: 97...122), radix: 16) }.joined() + "-tulip"
    var process: ChildProcess
    private var ends: FileDescriptor

    static func start(in place: PrivateDaemon.Place, _ environment: [String: String] = [:]) async throws -> Host {
      let (ours, theirs) = try FileDescriptor.pair()
      let all = place.environment.merging(["CRASHSHIELD_MEMORY": "full"]) { $1 }.merging(environment) { $1 }
      let process = try ChildProcess.start(
        Binaries.besideTests("shim-host"), ["memory"],
        ChildProcess.Options(environment: all, input: theirs.number, output: theirs.number))
      return Host(process: process, ends: ours)
    }

    private init(process: ChildProcess, ends: FileDescriptor) { (self.process, self.ends) = (process, ends) }

    /// Waits until the process prints `word`.
    func says(_ word: String) async throws {
      let line = try await blocking { [ends] in try ends.readLine() }
      try #require(line == word)
    }

    func crash() async throws {
      let line = Array((secret + "\n").utf8)
      // Invariant: write() reads at most as many bytes as the array has.
      #expect(unsafe Glibc.write(ends.number, line, line.count) == line.count)
      #expect(try await process.wait().signal == SIGSEGV)
    }
  }

  private static let rule = "privacy:\n  no-memory:\n    - exe: '*/shim-host'\n"

  private func write(_ text: String, to path: String) throws {
    let file = unsafe open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
    guard file >= 0 else { throw SystemError("open '\(path)'", errno) }
    defer { close(file) }
    let bytes = Array(text.utf8)
    // Invariant: write() reads at most as many bytes as the array has.
    guard unsafe Glibc.write(file, bytes, bytes.count) == bytes.count else {
      throw SystemError("write '\(path)'", errno)
    }
  }

  /// Counts the files below a directory that contain a part of the secret.
  ///
  /// Also counts files with only the beginning or the end of the secret, because the end of a database page can split
  /// the secret.
  private func files(with secret: String, in directory: String) throws -> Int {
    let (head, tail) = (Array(secret.utf8.prefix(20)), Array(secret.utf8.suffix(20)))
    var count = 0
    for name in try entries(of: directory) {
      let path = "\(directory)/\(name)"
      var status = stat()
      // Invariant: lstat writes one struct stat. A file that no longer exists was a temporary file, and does not count.
      guard unsafe lstat(path, &status) == 0 else { continue }
      if status.st_mode & S_IFMT == S_IFDIR {
        count += try files(with: secret, in: path)
      } else if status.st_mode & S_IFMT == S_IFREG {
        let bytes = try FileDescriptor(opening: path, O_RDONLY).readToEnd()
        if bytes.contains(bytes: head) || bytes.contains(bytes: tail) { count += 1 }
      }
    }
    return count
  }

  /// Crashes shim-host.
  ///
  /// Returns the report, the number of files with the secret, the number of stored stacks, whether the minidump
  /// contains the secret, and the output of `crashctl show`.
  private func findings(
    of host: Host, in daemon: PrivateDaemon
  ) async throws -> (report: CrashReport, files: Int, stacks: Int, dump: Bool, text: String) {
    let report = try await daemon.firstReport(of: host.process.pid)
    #expect(report.signal.name == "SIGSEGV")
    let functions = report.crashedThread?.stackFrames.map(\.function) ?? []
    #expect(functions.starts(with: ["crash_with", "keep_secrets", "keep_memory"]), "\(functions)")
    let client = daemon.client
    let stacks = try await blocking { try client.stacks(id: report.id) }
    let path = daemon.place.root.path + "/crash-\(report.id).dmp"
    _ = try await DanglingTests.crashctl(
      ["dump", "--format", "minidump", "-o", path, "--socket", daemon.place.varlinkSocket, report.id])
    let dump = try FileDescriptor(opening: path, O_RDONLY).readToEnd()
    let text = try await DanglingTests.crashctl(["show", "--socket", daemon.place.varlinkSocket, report.id])
    // A second analysis of the crash must omit the memory, too.
    let again = try await blocking { try client.reanalyse(id: report.id) }
    #expect(again.report.report.memoryOmitted == report.memoryOmitted)
    #expect(again.report.report.threads.map(\.frames) == report.threads.map(\.frames))
    return (
      report, try files(with: host.secret, in: daemon.place.state), stacks.count,
      dump.contains(bytes: host.secret.utf8), text
    )
  }

  /// Waits until crashd shows this state of memory capture for the attached process.
  private func awaitMemory(_ word: String, in daemon: PrivateDaemon) async throws {
    let client = daemon.client
    try await blocking {
      try Patience.wait(for: "no process whose memory is '\(word)'") { _ -> Void? in
        for _ in 0..<100 {
          if try client.processes().map(\.memory?.rawValue) == [word] { return () }
          usleep(10_000)
        }
        return nil
      }
    }
  }

  private func withDaemon(_ settings: String, _ body: (PrivateDaemon, String) async throws -> Void) async throws {
    let place = try PrivateDaemon.Place()
    try await withDaemon(settings, in: place, body)
  }

  private func withDaemon(
    _ settings: String, in place: PrivateDaemon.Place, _ body: (PrivateDaemon, String) async throws -> Void
  ) async throws {
    let path = place.root.path + "/crashd.yaml"
    try write(settings, to: path)
    let daemon = try await PrivateDaemon.start(in: place, options: ["--config", path])
    do {
      try await body(daemon, path)
    } catch {
      try await daemon.kill()
      throw error
    }
    try await daemon.stop()
  }

  @Test("by default the store, crashd's stack copies and minidumps contain the program's memory")
  func kept() async throws {
    try await withDaemon("") { daemon, _ in
      let host = try await Host.start(in: daemon.place)
      try await host.says("attached")
      try await awaitMemory("full", in: daemon)
      try await host.crash()
      let found = try await findings(of: host, in: daemon)
      #expect(found.files > 0 && found.stacks == 1 && found.dump)
      #expect(found.report.memoryOmitted == nil && !found.text.contains("not taken"))
    }
  }

  @Test("a program can switch its memory capture off, and the report then says that the program did so")
  func program() async throws {
    try await withDaemon("") { daemon, _ in
      let host = try await Host.start(in: daemon.place, ["CRASHSHIELD_MEMORY": "none"])
      try await host.says("attached")
      try await awaitMemory("none", in: daemon)
      try await host.crash()
      let found = try await findings(of: host, in: daemon)
      #expect(found.files == 0 && found.stacks == 0 && !found.dump)
      #expect(found.report.memoryOmitted == .program)
      #expect(found.text.contains("not stored: disabled by the program"))
    }
  }

  @Test(
    "under a no-memory rule of crashd, a report has no memory, even if the program does not apply the rule",
    arguments: [("1", "withheld"), ("0", "discarded")])
  func settings(control: String, word: String) async throws {
    try await withDaemon(Self.rule) { daemon, _ in
      let host = try await Host.start(in: daemon.place, ["CRASHSHIELD_CONTROL": control])
      try await host.says("attached")
      try await awaitMemory(word, in: daemon)
      try await host.crash()
      let found = try await findings(of: host, in: daemon)
      #expect(found.files == 0 && found.stacks == 0 && !found.dump)
      #expect(found.report.memoryOmitted == .operator)
      #expect(found.text.contains("not stored: disabled for this program in crashd's settings"))
    }
  }

  @Test("memory that crashd's rule withholds stays withheld while crashd is away, and the spooled ring has the reason")
  func away() async throws {
    let place = try PrivateDaemon.Place()
    var started: Host?
    try await withDaemon(Self.rule, in: place) { daemon, _ in
      let host = try await Host.start(in: place)
      try await host.says("attached")
      try await awaitMemory("withheld", in: daemon)
      started = host
    }
    let host = try #require(started)
    try await host.says("alone")
    try await host.crash()
    let spool = place.runtime + "/spool"
    #expect(try entries(of: spool).filter { $0.hasSuffix(".ring") }.count == 1)
    #expect(try files(with: host.secret, in: spool) == 0)
    // The settings of the next crashd have no no-memory rule. Nevertheless the report has no memory, because the record
    // says that the operator switched memory capture off.
    try await withDaemon("", in: place) { daemon, _ in
      let found = try await findings(of: host, in: daemon)
      #expect(found.files == 0 && found.stacks == 0 && !found.dump)
      #expect(found.report.memoryOmitted == .operator)
    }
  }

  @Test("a no-memory rule for a unit also applies to spooled rings, because their unit is unknown")
  func spooled() async throws {
    let place = try PrivateDaemon.Place()
    let spool = try place.root.directory("run/spool", mode: 0o1777)
    let host = try await Host.start(in: place)
    try await host.says("alone")
    try await host.crash()
    #expect(try files(with: host.secret, in: spool) == 1)
    try await withDaemon("privacy: {no-memory: [{unit: shop, exe: '*host'}]}", in: place) { daemon, _ in
      let found = try await findings(of: host, in: daemon)
      #expect(found.files == 0 && found.stacks == 0 && !found.dump)
      #expect(found.report.memoryOmitted == .operator)
      #expect(try files(with: host.secret, in: spool) == 0)
    }
  }

  @Test("no-memory rules that a reload adds or removes apply to running processes")
  func reload() async throws {
    try await withDaemon("") { daemon, path in
      let (first, second) = (try await Host.start(in: daemon.place), Self.rule)
      try await first.says("attached")
      try await awaitMemory("full", in: daemon)
      try write(second, to: path)
      daemon.process.signal(SIGHUP)
      try await awaitMemory("withheld", in: daemon)
      try write("", to: path)
      daemon.process.signal(SIGHUP)
      try await awaitMemory("full", in: daemon)
      try write(second, to: path)
      daemon.process.signal(SIGHUP)
      try await awaitMemory("withheld", in: daemon)
      try await first.crash()
      let found = try await findings(of: first, in: daemon)
      #expect(found.files == 0 && found.stacks == 0 && !found.dump)
      #expect(found.report.memoryOmitted == .operator)
    }
  }
}

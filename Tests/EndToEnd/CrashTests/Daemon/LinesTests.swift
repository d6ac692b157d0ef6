import CrashMaker
import CrashReport
import Glibc
import TestKit
import Testing

/// Tests the lines that the signal handler writes to a file or to stderr at a crash: the last words (a line for
/// people), and the record line (the whole record, for a crash that nothing else can store).
@Suite("The lines of a crash")
struct LinesTests {
  @Test(
    "without a running crashd, a crash by each signal writes one line of last words with the id of the later report",
    arguments: [
      "null-write", "bus-truncated-mmap", "abort", "array-index", "int3", "float-divide", "seccomp-sys",
      "crash-in-our-handler", "simultaneous-8", "no-descriptors",
    ])
  func signals(name: String) async throws {
    let place = try Self.placeWithSpool()
    let scenario = try #require(Scenario.named(name))
    let crash = try await Crasher.run(name, environment: place.environment(words: place.words))
    #expect(crash.status.signal == (try Crasher.signalNumber(scenario.signal)))
    let line = try Self.onlyLine(of: place.words)
    #expect(line.utf8.count < 1_024 && line.contains("crash-maker crashed by \(scenario.signal)"), "\(line)")
    #expect(name == "seccomp-sys" || line.contains(" in crash-maker+0x"), "\(line)")
    let rings = try entries(of: place.place.runtime + "/spool")
    #expect(rings.allSatisfy { line.hasSuffix("; report " + $0.prefix(32)) }, "\(line) \(rings)")
  }

  @Test("with a running crashd, the line of last words has the id of the report, and no record line is written")
  func attached() async throws {
    try await PrivateDaemon.run { daemon in
      let words = daemon.place.root.path + "/words"
      var environment = daemon.place.environment
      environment.merge(["CRASHSHIELD_LAST_WORDS": words, "CRASHSHIELD_RECORD": "stderr"]) { $1 }
      let crash = try await Crasher.run("fatal-error", environment: environment)
      let report = try await daemon.firstReport(of: crash.pid)
      let line = try Self.onlyLine(of: words)
      #expect(line.hasSuffix("; report " + report.id.prefix(32)), "\(line) \(report.id)")
      #expect(line.contains("Fatal error: the price list is empty in crash-maker+"), "\(line)")
      #expect(!crash.error.contains("crashshield-record:"))
    }
  }

  @Test(
    "in a container, last words go to /dev/termination-log; if it is full or read-only, the end is the same",
    .enabled("only root can make a mount namespace") { geteuid() == 0 }, arguments: ["plain", "full", "read-only"])
  func terminationLog(kind: String) async throws {
    let place = try Self.placeWithSpool()
    let devices = try place.place.root.directory("dev")
    let small = try place.place.root.directory("small")
    // The shell itself prints the file, because the kernel removes the mounts when the shell ends.
    let script = #"""
      mount -t tmpfs -o size=64k small "$2" && touch "$2/log" || exit 1
      if [ "$4" = full ]; then cat /dev/zero >"$2/filler" 2>/dev/null; fi
      mount -t tmpfs devices "$1" && touch "$1/termination-log" || exit 2
      for name in null zero full urandom; do touch "$1/$name" && mount --bind /dev/$name "$1/$name" || exit 3; done
      mount --bind "$2/log" "$1/termination-log" || exit 4
      if [ "$4" = read-only ]; then mount -o remount,bind,ro "$1/termination-log" || exit 5; fi
      mount --rbind "$1" /dev || exit 6
      "$3" null-write
      code=$?
      cat "$2/log"
      exit $code
      """#
    let (outcome, output) = try await Self.shell(
      script, [devices, small, Binaries.path("crash-maker"), kind], place.environment(words: nil))
    #expect(outcome.code == 128 + SIGSEGV)
    // Keep only lines of the shield, because the shell also prints how the program ended.
    let lines = output.split(separator: "\n").filter { $0.hasPrefix("crashshield") }
    #expect(lines.count == (kind == "plain" ? 1 : 0), "\(output)")
    #expect(lines.allSatisfy { $0.hasPrefix("crashshield: crash-maker crashed by SIGSEGV at address 0x0 in ") })
    #expect(try entries(of: place.place.runtime + "/spool").count == 1)
  }

  @Test(
    "no last words go to a full device, a FIFO without a reader, a symbolic link or a directory")
  func refused() async throws {
    let place = try Self.placeWithSpool()
    let root = place.place.root.path
    let (fifo, link) = (root + "/fifo", root + "/link")
    #expect(unsafe mkfifo(fifo, 0o600) == 0 && symlink(root + "/target", link) == 0)
    for path in ["/dev/full", fifo, link, root, root + "/none/words"] {
      let crash = try await Crasher.run("null-write", environment: place.environment(words: path))
      #expect(crash.status.signal == SIGSEGV, "\(path)")
    }
    #expect(try !entries(of: root).contains("target"))
    #expect(try entries(of: place.place.runtime + "/spool").count == 5)
  }

  @Test(
    "with CRASHSHIELD_LAST_WORDS=off a crash writes no last words; with =stderr it writes one line to standard error")
  func choices() async throws {
    let place = try Self.placeWithSpool()
    let off = try await Crasher.run("null-write", environment: place.environment(words: "off"))
    #expect(!off.error.contains("crashshield:"))
    let asked = try await Crasher.run("null-write", environment: place.environment(words: "stderr"))
    #expect(asked.error.split(separator: "\n").count { $0.hasPrefix("crashshield: ") } == 1)
  }

  @Test("if stderr is closed or a full pipe, a crash still ends the process at once and by its own signal")
  func stuck() async throws {
    let place = try PrivateDaemon.Place()
    var environment = place.environment
    environment.merge(
      ["CRASHSHIELD_LAST_WORDS": "stderr", "CRASHSHIELD_RECORD": "stderr", "CRASHSHIELD_SPOOL": "/proc/none/spool"]
    ) { $1 }
    let (closed, _) = try await Self.shell(#""$1" null-write 2>&-"#, [Binaries.path("crash-maker")], environment)
    #expect(closed.code == 128 + SIGSEGV)
    let path = place.root.path + "/fifo"
    #expect(unsafe mkfifo(path, 0o600) == 0)
    let reader = try FileDescriptor(opening: path, O_RDWR | O_NONBLOCK)
    let page = [UInt8](repeating: 0, count: 4_096)
    // Invariant: the array has `page.count` bytes.
    while unsafe write(reader.number, page, page.count) > 0 {}
    // If the handler waited for the pipe, the test would fail: only the handler's watchdog would end the process, and
    // its deadline is longer than the test's time limit.
    let child = try ChildProcess.start(
      Binaries.path("crash-maker"), ["null-write"], ChildProcess.Options(environment: environment, errorPath: path))
    #expect(try await child.wait().signal == SIGSEGV)
  }

  @Test(
    "if stderr is closed, the handler makes the spool directory and writes a spool file, instead of a record line")
  func closed() async throws {
    let place = try PrivateDaemon.Place()
    var environment = place.environment
    let parent = place.root.path + "/none"
    environment.merge(["CRASHSHIELD_RECORD": "stderr", "CRASHSHIELD_SPOOL": parent + "/spool"]) { $1 }
    let (status, _) = try await Self.shell(#""$1" null-write 2>&-"#, [Binaries.path("crash-maker")], environment)
    #expect(status.code == 128 + SIGSEGV)
    #expect(try entries(of: parent + "/spool").count == 1)
  }

  @Test("last words go to stderr by its path, but not to a file of another user or a file with two hard links")
  func strange() async throws {
    let place = try Self.placeWithSpool()
    for path in ["/dev/stderr", "/proc/self/fd/2"] {
      let crash = try await Crasher.run("null-write", environment: place.environment(words: path))
      #expect(crash.error.split(separator: "\n").count { $0.hasPrefix("crashshield: ") } == 1, "\(path)")
    }
    let (linked, foreign) = (place.place.root.path + "/linked", place.place.root.path + "/foreign")
    for path in [linked, foreign] { close(unsafe open(path, O_WRONLY | O_CREAT, 0o666)) }
    #expect(unsafe link(linked, linked + "-2") == 0)
    // Only root can give a file to another user.
    let isRoot = unsafe geteuid() == 0 && chown(foreign, 65_534, 65_534) == 0
    for path in isRoot ? [linked, foreign] : [linked] {
      let crash = try await Crasher.run("null-write", environment: place.environment(words: path))
      #expect(crash.status.signal == SIGSEGV)
      #expect(try contents(of: path).isEmpty, "\(path)")
    }
  }

  @Test("a contained trap writes no last words; a trap that drains the process writes them when the drain ends")
  func containment() async throws {
    let place = try Self.placeWithSpool()
    let environment = place.environment(words: place.words)
    let contained = try await HostRun.start(
      "index", "contain", ["--traps", "1", "--budget", "3"], environment: environment)
    #expect(contained.end == "exit 0" && contained.contained == 1)
    #expect(try contents(of: place.words).isEmpty)
    let drained = try await HostRun.start("index", "drain", environment: environment)
    #expect(drained.end == "signal \(trapSignal)" && drained.drainEnd == "done")
    #expect(try Self.onlyLine(of: place.words).contains("crashed by \(Architecture.current.trapSignal)"))
  }

  @Test(
    "without crashd and without a spool, a crash leaves one record line of at most 4,096 bytes on stderr",
    arguments: [
      "null-write", "deep-recursion", "fatal-error-long", "crash-in-our-handler", "simultaneous-8", "many-threads",
    ])
  func record(name: String) async throws {
    let place = try PrivateDaemon.Place()
    var environment = place.environment
    environment.merge(["CRASHSHIELD_RECORD": "stderr", "CRASHSHIELD_SPOOL": place.root.path + "/none/spool"]) { $1 }
    let crash = try await Crasher.run(name, environment: environment)
    let lines = crash.error.split(separator: "\n").filter { $0.hasPrefix("crashshield-record:1:") }
    #expect(lines.count == 1 && lines.allSatisfy { (300..<4_096).contains($0.utf8.count) }, "\(crash.error)")
    // The handler wrote the record line instead of a spool file, so it did not create the spool directory.
    #expect(try !entries(of: place.root.path).contains("none"))
    environment["CRASHSHIELD_RECORD"] = "off"
    environment["CRASHSHIELD_SPOOL"] = "/proc/none/spool"
    #expect(try await !Crasher.run(name, environment: environment).error.contains("crashshield-record"))
  }

  @Test("if the handler can write a spool file, it writes no record line")
  func spooled() async throws {
    let place = try Self.placeWithSpool()
    var environment = place.environment(words: nil)
    environment["CRASHSHIELD_RECORD"] = "stderr"
    let crash = try await Crasher.run("null-write", environment: environment)
    #expect(!crash.error.contains("crashshield-record"))
    #expect(try entries(of: place.place.runtime + "/spool").count == 1)
  }

  @Test(
    "a set-user-ID program ignores CRASHSHIELD_LAST_WORDS and CRASHSHIELD_RECORD",
    .enabled("only root can change the user") { geteuid() == 0 })
  func privileged() async throws {
    let place = try Self.placeWithSpool()
    let program = place.place.root.path + "/crash-maker"
    var environment = place.environment(words: place.place.root.path + "/words")
    environment.merge(["CRASHSHIELD_RECORD": "stderr", "CRASHSHIELD_SPOOL": "/proc/none/spool"]) { $1 }
    let script = #"""
      chmod 0777 "$1" && cp "$2" "$3" && chmod 4755 "$3" || exit 1
      setpriv --reuid=65534 --clear-groups "$3" null-write
      """#
    let (outcome, output) = try await Self.shell(
      script, [place.place.root.path, Binaries.path("crash-maker"), program], environment)
    #expect(outcome.code == 128 + SIGSEGV)
    #expect(!output.contains("crashshield"))
    #expect(try !entries(of: place.place.root.path).contains("words"))
  }
}

extension LinesTests {
  /// The paths of a crashd that does not run, with a spool directory, and the path of the file for last words.
  private struct Setting {
    var place: PrivateDaemon.Place
    var words: String { place.root.path + "/words" }

    func environment(words: String?) -> [String: String] {
      var environment = place.environment
      environment["CRASHSHIELD_LAST_WORDS"] = words
      return environment
    }
  }

  private static func placeWithSpool() throws -> Setting {
    let place = try PrivateDaemon.Place()
    let path = place.runtime + "/spool"
    guard unsafe mkdir(path, 0o700) == 0, unsafe chmod(path, 0o3733) == 0 else {
      throw SystemError("mkdir '\(path)'", errno)
    }
    return Setting(place: place)
  }

  private static func onlyLine(of path: String) throws -> Substring {
    let lines = try contents(of: path).split(separator: "\n")
    #expect(lines.count == 1, "\(lines)")
    return try #require(lines.first)
  }

  /// Runs a script in a new mount namespace, and returns its exit status and its output.
  private static func shell(
    _ script: String, _ arguments: [String], _ environment: [String: String]
  ) async throws -> (status: ExitStatus, output: String) {
    let directory = try TestDirectory()
    let path = directory.path + "/output"
    let output = try FileDescriptor(unsafe open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600), from: "open")
    let shell = try ChildProcess.start(
      "/usr/bin/unshare", (geteuid() == 0 ? ["--mount"] : []) + ["--", "/bin/sh", "-c", script, "sh"] + arguments,
      ChildProcess.Options(environment: environment, output: output.number, errorPath: path))
    return (try await shell.wait(), try contents(of: path))
  }
}

import CrashShield
import Glibc
import Synchronization
import Testing

// Invariant: dlsym() with the default handle (nil) only searches the loaded libraries; it returns nil if the name does
// not exist.
private let isUnderThreadSanitizer = unsafe dlsym(nil, "__tsan_init") != nil

/// Tests the start of the shield, its tags and its breadcrumbs.
///
/// Each test that starts the shield runs in its own process, because a process can start the shield only once.
@Suite
struct ShieldTests {
  /// The exit status of a child that has reached its end, and in which all checks have passed.
  private static let right: Int32 = 42

  @Test("calls before the start have no effect")
  func notStarted() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      let isTagged = Shield.setTag("version", to: "1")
      Shield.addBreadcrumb("nothing")
      Glibc.exit(!Shield.isStarted && !isTagged ? ShieldTests.right : 1)
    }
  }

  @Test("a start without crashd succeeds, and the callback reports once that crashd is unreachable")
  func unreachable() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      let changes = ConnectionLog()
      try Shield.startOrThrow(
        Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool") { connection in
          changes.append(connection)
        })
      guard Shield.isStarted, case .unreachable(let why) = changes.first(), !why.isEmpty else { Glibc.exit(1) }
      Glibc.exit(ShieldTests.right)
    }
  }

  // Not under ThreadSanitizer, whose own handlers precede all others, including the shield's.
  @Test(
    "Shield.status has the connection with its reason, and the replaced handlers",
    .enabled(if: !isUnderThreadSanitizer))
  func status() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      let before = Shield.status
      guard !before.isStarted, before.connection == nil, before.replacedHandlers.isEmpty else { Glibc.exit(1) }
      let changes = ConnectionLog()
      try Shield.startOrThrow(Shield.Configuration(socket: "/dev/null/attach") { changes.append($0) })
      let reported = changes.first()
      let after = Shield.status
      guard case .unreachable? = reported else { Glibc.exit(5) }
      guard after.isStarted, after.connection == reported, after.replacedHandlers.isEmpty else { Glibc.exit(2) }
      signal(SIGBUS, SIG_IGN)
      signal(SIGFPE) { _ in }
      let replaced = Shield.status.replacedHandlers
      guard replaced.count == 2, replaced[SIGBUS] == .ignored else { Glibc.exit(3) }
      guard case .handler(let image?)? = replaced[SIGFPE], !image.isEmpty else { Glibc.exit(4) }
      Glibc.exit(ShieldTests.right)
    }
  }

  @Test("a second start throws an error, and the shield continues with the configuration of the first start")
  func startedTwice() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      try Shield.startOrThrow(Shield.Configuration(socket: "/dev/null/attach"))
      #expect(throws: Shield.StartError.alreadyStarted) { try Shield.startOrThrow() }
      Glibc.exit(Shield.isStarted ? ShieldTests.right : 1)
    }
  }

  @Test("a failed start returns its error, passes it to the callback, and prints nothing")
  func failedStart() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      // The testing library also prints, but not during this call.
      let output = unsafe tmpfile().map { unsafe fileno($0) } ?? -1
      guard dup2(output, STDOUT_FILENO) >= 0, dup2(output, STDERR_FILENO) >= 0 else { Glibc.exit(2) }
      let reported = Mutex<[Shield.Status]>([])
      let status = Shield.start(name: "shop\0", release: "shop@1.4.2") { status in
        reported.withLock { $0.append(status) }
      }
      let isRight =
        !status.isStarted && status.startError == .badArgument("name contains a NUL")
        && Shield.status.startError == status.startError && reported.withLock { $0 } == [status]
      Glibc.exit(isRight && lseek(output, 0, SEEK_END) == 0 ? ShieldTests.right : 1)
    }
  }

  @Test("a second start returns the reason why it has no effect, and a successful start has no error")
  func startedAgain() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      let configuration = Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool")
      let first = Shield.start(configuration: configuration)
      guard first.isStarted, first.startError == nil else { Glibc.exit(1) }
      let second = Shield.start(release: "another")
      Glibc.exit(second.isStarted && second.startError == .alreadyStarted ? ShieldTests.right : 2)
    }
  }

  @Test("with CRASHSHIELD_DISABLE=1 the program's call of start returns without starting the shield")
  func disabled() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      // Invariant: no other thread runs in this process yet. Therefore the environment can be changed.
      unsafe setenv("CRASHSHIELD_DISABLE", "1", 1)
      try Shield.startOrThrow(Shield.Configuration(socket: "/dev/null/attach"))
      Glibc.exit(Shield.isStarted ? 1 : ShieldTests.right)
    }
  }

  @Test("CRASHSHIELD_DISABLE=0 does not disable the shield")
  func notDisabled() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      // Invariant: no other thread runs in this process yet. Therefore the environment can be changed.
      unsafe setenv("CRASHSHIELD_DISABLE", "0", 1)
      try Shield.startOrThrow(Shield.Configuration(socket: "/dev/null/attach"))
      Glibc.exit(Shield.isStarted ? ShieldTests.right : 1)
    }
  }

  @Test("tags are set, replaced and removed; tags that are too long are cut, and the result of the call states that")
  func tags() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      try Shield.startOrThrow(Shield.Configuration(socket: "/dev/null/attach"))
      #expect(Shield.setTag("version", to: "1"))
      #expect(Shield.setTag("version", to: "2"))
      #expect(Shield.setTag("version", to: ""))
      #expect(Shield.setTag("region", to: "Zürich ✓"))
      #expect(!Shield.setTag("long", to: String(repeating: "x", count: 10_000)))
      #expect(!Shield.setTag(String(repeating: "k", count: 1_000), to: "value"))
      Glibc.exit(ShieldTests.right)
    }
  }

  @Test("breadcrumbs with any text, from many threads at once, do not crash the process")
  func breadcrumbs() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      try Shield.startOrThrow(Shield.Configuration(socket: "/dev/null/attach"))
      Shield.addBreadcrumb("")
      Shield.addBreadcrumb("\0")
      Shield.addBreadcrumb(String(repeating: "é", count: 10_000))
      await withTaskGroup { group in
        for writer in 0..<8 {
          group.addTask {
            for number in 0..<1_000 { Shield.addBreadcrumb("writer \(writer) line \(number)") }
          }
        }
      }
      Glibc.exit(ShieldTests.right)
    }
  }

  @Test(
    "a configuration text with a NUL is refused instead of being cut",
    arguments: ["socket", "spool", "name"])
  func nul(field: String) {
    var configuration = Shield.Configuration()
    switch field {
    case "socket": configuration.socket = "/run/\0attach"
    case "spool": configuration.spool = "/run/\0spool"
    default: configuration.name = "\0"
    }
    #expect(throws: Shield.StartError.badArgument("\(field) contains a NUL")) { try Shield.startOrThrow(configuration) }
    #expect(!Shield.isStarted)
  }

  @Test("errors of the start state what failed, on which object, and why")
  func descriptions() {
    #expect("\(Shield.StartError.alreadyStarted)" == "cannot start the crash shield: it is started already")
    #expect(
      "\(Shield.StartError.badArgument("socket"))" == "cannot start the crash shield: bad argument: socket")
    #expect(
      "\(Shield.StartError.systemCall("memfd_create", errno: ENOSYS))"
        == "cannot start the crash shield: memfd_create: Function not implemented")
  }
}

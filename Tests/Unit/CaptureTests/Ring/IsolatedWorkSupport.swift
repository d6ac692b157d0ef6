// Code that the tests of isolated work (`Shield.isolated`) share. It runs in the processes that these tests start.
import CShim
import CShimRing
import CrashRing
import CrashShield
import CrashShieldGuards
import Foundation
import Glibc
import Testing

extension Trait where Self == ConditionTrait {
  /// Disables a suite in a run under a sanitizer.
  static var unlessSanitized: Self {
    .disabled("a sanitizer answers bad accesses and forks itself, and calls our handler late") {
      ["__asan_init", "__tsan_init"].contains { (name: String) in
        // Invariant: dlsym() only searches the loaded libraries, and the name is a valid C string during the call.
        unsafe dlsym(nil, name) != nil
      }
    }
  }
}

/// The exit status of a process in which all checks have passed.
let rightStatus: Int32 = 42

/// Runs work that must end the process.
///
/// This function catches an error of the work, because an error that leaves the body of an exit test ends the process
/// with SIGILL, as a trap does.
func mustCrash(_ work: () async throws -> Void) async {
  do { try await work() } catch { complain("not crashed: \(error)") }
  complain("not crashed")
}

func startShield(spool: String = "/dev/null/spool") {
  do {
    try Shield.startOrThrow(.init(socket: "/dev/null/attach", spool: spool))
  } catch {
    complain("\(error)")
  }
}

func complain(_ text: String) -> Never {
  FileHandle.standardError.write(Data("\(text)\n".utf8))
  Glibc.exit(1)
}

/// Traps with a runtime error message if the number is divisible by ten.
@inline(never)
func shelf(_ number: Int) -> Int {
  if opaque(number) % 10 == 0 { fatalError("shelf \(number) is empty") }
  return number
}

@inline(never)
@_optimize(none)
func opaque<Value>(_ value: Value) -> Value { value }

/// Runs on the executor of its task, and not on the executor of the caller.
@concurrent
func trapAtHome() async { _ = shelf(0) }

/// The thread ID of the calling thread.
@inline(never)
func threadNumber() -> pid_t { thread_() }

/// An actor that runs on a thread other than that of the isolated work.
actor Elsewhere {
  static let shared = Elsewhere()
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var isOpen = false

  func next(_ number: Int) -> Int { number + 1 }

  func threadNumber() -> pid_t { CaptureTests.threadNumber() }

  func trap() { _ = shelf(0) }

  func enter(_ gate: ExclusiveGate, _ body: @Sendable () async -> Void) async { await gate.run { await body() } }

  func untilSomebodyWaits() async {
    while waiting.isEmpty { await Task.yield() }
  }

  func wait() async {
    if !isOpen { await withCheckedContinuation { waiting.append($0) } }
  }

  func open() {
    isOpen = true
    for continuation in waiting { continuation.resume() }
    waiting = []
  }
}

/// The incidents that this process has recorded.
func incidents() throws -> [Incident] { try ring().incidents }

/// Checks that this process has recorded `count` incidents of isolated work.
///
/// Checks that the ring has `count` incidents: contained traps, each with its stack, and with its message if
/// `haveWords`.
func check(incidents count: Int, haveWords: Bool = true) throws {
  let contents = try ring()
  let incidents = contents.incidents
  let here = contents.images.filter(\.isExecutable)
  let areWhole = incidents.allSatisfy { incident in
    incident.source == .isolated && incident.count == 1 && incident.isExact && incident.mode == .absorb
      && incident.kind == cs_ring_contained.CS_RING_CONTAINED_TRAP.rawValue && incident.useTid != nil
      && (!haveWords || incident.subject.contains("is empty"))
      && incident.use.contains { pc in here.contains { $0.start <= pc && pc < $0.end } }
  }
  guard incidents.count == count, areWhole, contents.records.isEmpty else {
    complain("\(incidents.count) incidents: \(incidents.first.map { "\($0)" } ?? "")")
  }
}

/// Creates a spool directory, and removes it after the body has returned.
func withSpool(_ body: (String) async throws -> Void) async throws {
  let spool = FileManager.default.temporaryDirectory.appending(path: "cs-\(UUID().uuidString.prefix(8))")
  try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
  defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: spool) } }
  try await body(spool.path)
}

/// Returns the ring of a spool directory, which must contain only one.
func ringContents(ofSpool directory: String) throws -> RingContents {
  let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
  // Invariant: the path contains no NUL.
  let descriptor = unsafe open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
  defer { close(descriptor) }
  return try RingMapping(spoolFile: descriptor).contents()
}

/// Returns the contents of this process's ring.
private func ring() throws -> RingContents {
  // Invariant: the shield's own mapping is a complete ring, and stays mapped until the process ends.
  try unsafe RingReader(
    bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
  ).contents()
}

/// Swift does not import gettid(), because glibc declares it only under a condition.
@_silgen_name("gettid")
private func thread_() -> pid_t

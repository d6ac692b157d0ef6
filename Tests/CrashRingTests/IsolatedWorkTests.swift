import CShim
import CShimRing
import CrashRing
import CrashShield
import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

/// Traps that end work and not the process, and what the ring has of them; each test in a process of its own.
@Suite(
  "Isolated work",
  .enabled(if: !isSanitized, "a sanitizer answers bad accesses and forks itself, and calls our handler late"))
struct IsolatedWorkTests {
  private static let right: Int32 = 42
  private static let calls = 300
  private static let traps = 30
  // More words than are looked at at once.
  private static let longTraps = 12

  @Test("of 300 calls 30 trap: 30 errors, 30 incidents, 270 results; the next trap is beyond the budget, and kills")
  func budget() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        Shield.isolationBudget = IsolatedWorkTests.traps
        var (results, errors) = (0, 0)
        for call in 0..<IsolatedWorkTests.calls {
          do {
            results += try Shield.isolated { shelf(call) } == call ? 1 : 0
          } catch ShieldFault.trapped {
            errors += 1
          }
        }
        guard (results, errors) == (270, 30), Shield.isolationTraps == 30 else { complain("\(results) \(errors)") }
        try check(incidents: IsolatedWorkTests.traps)
        _ = try Shield.isolated { shelf(0) }
      }
    }
  }

  @Test("the same of asynchronous work, on whatever threads it waits")
  func asynchronousBudget() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        Shield.isolationBudget = IsolatedWorkTests.traps
        var (results, errors) = (0, 0)
        for call in 0..<IsolatedWorkTests.calls {
          do {
            let result = try await Shield.isolated {
              await Task.yield()
              async let other = Elsewhere.shared.next(call)
              return shelf(await other - 1)
            }
            results += result == call ? 1 : 0
          } catch ShieldFault.trapped {
            errors += 1
          }
        }
        guard (results, errors) == (270, 30), Shield.isolationTraps == 30 else { complain("\(results) \(errors)") }
        try check(incidents: IsolatedWorkTests.traps)
        try await emptyShelf()
      }
    }
  }

  @Test("threads that trap together are contained, each with an incident of its own")
  func together() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let errors = Atomic<Int>(0)
      let gathered = Atomic<Int>(0)
      let threads = 12
      // Each has a thread that waits for it.
      let waiting = (0..<threads).map { _ in
        Thread {
          do {
            try Shield.isolated {
              gathered.add(1, ordering: .acquiringAndReleasing)
              while gathered.load(ordering: .acquiring) < threads { sched_yield() }
              _ = shelf(0)
            }
          } catch ShieldFault.trapped {
            errors.add(1, ordering: .acquiringAndReleasing)
          } catch {}
        }
      }
      for thread in waiting { thread.start() }
      while errors.load(ordering: .acquiring) < threads { sched_yield() }
      // One of them may tell what several said.
      try check(incidents: threads, haveWords: false)
      Glibc.exit(IsolatedWorkTests.right)
    }
  }

  @Test("what work returns and throws is its caller's, and its thread ends")
  func ordinary() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      try #require(Shield.isolationObstacle == nil)
      try #require(returnsWhatItsWorkDoes())
      try #require(try await Shield.isolated { await Elsewhere.shared.next(1) } == 2)
      try #require(failsAsItsWork())
      try #require(await failsAsItsWork())
      try #require(isEndedFromWithin())
      Glibc.exit(Shield.isolationTraps == 0 ? IsolatedWorkTests.right : 1)
    }
  }

  @Test("asynchronous work that is cancelled is told, and its caller waits for it")
  func cancellation() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let hasBegun = DispatchSemaphore(value: 0)
      let task = Task {
        try await Shield.isolated {
          hasBegun.signal()
          while !Task.isCancelled { await Task.yield() }
          return 7
        }
      }
      await withCheckedContinuation { continuation in
        DispatchQueue.global().async {
          hasBegun.wait()
          continuation.resume()
        }
      }
      task.cancel()
      Glibc.exit(try await task.value == 7 ? IsolatedWorkTests.right : 1)
    }
  }

  @Test("the children of a task that has trapped go on")
  func children() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      do {
        try await Shield.isolated {
          async let child: Void = {
            await Elsewhere.shared.wait()
            continuation.yield(5)
          }()
          await Task.yield()
          _ = shelf(0)
          await child
        }
      } catch ShieldFault.trapped {}
      await Elsewhere.shared.open()
      for await number in stream { Glibc.exit(number == 5 ? IsolatedWorkTests.right : 1) }
    }
  }

  @Test("the children and the cancellation handlers of a task that has trapped are told")
  func childrenAreCancelled() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
      do {
        try await Shield.isolated {
          await withTaskCancellationHandler {
            async let child: Void = {
              while !Task.isCancelled { await Task.yield() }
              continuation.yield(5)
            }()
            await Task.yield()
            _ = shelf(0)
            await child
          } onCancel: {
            continuation.yield(6)
          }
        }
      } catch ShieldFault.trapped {}
      var told: Set<Int> = []
      for await number in stream {
        told.insert(number)
        if told == [5, 6] { Glibc.exit(IsolatedWorkTests.right) }
      }
    }
  }

  @Test("an actor that the work calls is served elsewhere")
  func actorElsewhere() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let (inside, outside) = try await Shield.isolated {
        let outside = thread()
        return (await Elsewhere.shared.thread(), (outside, thread()))
      }
      // The work itself comes back to its thread.
      Glibc.exit(inside != outside.0 && outside.0 == outside.1 ? IsolatedWorkTests.right : 1)
    }
  }

  @Test("a trap in an actor that the work calls ends the process: others wait for the actor")
  func actorTraps() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        try await Shield.isolated { await Elsewhere.shared.trap() }
      }
    }
  }

  @Test("a bad access in isolated work ends the process as ever")
  func badAccess() async {
    await #expect(processExitsWith: .signal(SIGSEGV)) {
      await mustCrash {
        start()
        try Shield.isolated { unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(8))?.pointee = 1 }
      }
    }
  }

  @Test("so does an abort")
  func abortion() async {
    await #expect(processExitsWith: .signal(SIGABRT)) {
      await mustCrash {
        start()
        try Shield.isolated { abort() }
      }
    }
  }

  @Test("so does a trap where a lock of ours is held")
  func gate() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        try Shield.isolated { _ = ExclusiveGate().run { shelf(0) } }
      }
    }
  }

  @Test("so does one in a gate that was entered before a suspension")
  func asynchronousGate() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        try await Shield.isolated {
          await ExclusiveGate().run {
            await Task.yield()
            _ = shelf(0)
          }
        }
      }
    }
  }

  @Test("so does one in a gate that the work entered on another thread")
  func gateEnteredElsewhere() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        // The body goes back to the work's thread.
        try await Shield.isolated { await Elsewhere.shared.enter(ExclusiveGate()) { await trapAtHome() } }
      }
    }
  }

  @Test("a gate that the work has left hinders nothing")
  func gateOfChild() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let gate = ExclusiveGate()
      do {
        try await Shield.isolated {
          async let child: Void? = Elsewhere.shared.enter(gate) {}
          await child
          await trapAtHome()
        }
      } catch ShieldFault.trapped {}
      Glibc.exit(isOpen(gate) ? IsolatedWorkTests.right : 1)
    }
  }

  @Test("so does one in a cancellation handler, which is called with the task locked")
  func cancellationHandler() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        let task = Task {
          await withTaskCancellationHandler {
            await Elsewhere.shared.wait()
          } onCancel: {
            _ = shelf(0)
          }
        }
        await Elsewhere.shared.untilSomebodyWaits()
        try cancelInIsolatedWork(task)
      }
    }
  }

  @Test("so does one in a cancellation handler of a group's, called by asynchronous work")
  func cancellationHandlerInGroup() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        try await Shield.isolated {
          await withTaskGroup(of: Void.self) { group in
            group.addTask {
              await withTaskCancellationHandler {
                await Elsewhere.shared.wait()
              } onCancel: {
                _ = shelf(0)
              }
            }
            await Elsewhere.shared.untilSomebodyWaits()
            group.cancelAll()
          }
        }
      }
    }
  }

  @Test("so does one in a global variable that is being made, for which others would wait")
  func lazyGlobal() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        _ = try Shield.isolated { Lazy.shelf }
      }
    }
  }

  @Test("so does one in a block of Dispatch's, whose queue would stay taken")
  func queue() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        _ = try Shield.isolated { DispatchQueue(label: "test").sync { shelf(0) } }
      }
    }
  }

  @Test("so does one in a description that is being printed, for the stream would stay locked")
  func printing() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        try Shield.isolated { print(Label()) }
      }
    }
  }

  @Test("threads that stay hinder neither a change of the user nor the end of the process")
  func afterwards() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      for _ in 0..<3 { _ = try? Shield.isolated { shelf(0) } }
      // glibc has each thread do this, and waits for it.
      guard setgid(getgid()) == 0, Shield.isolationTraps == 3 else { Glibc.exit(1) }
      print("a line")
      Glibc.exit(IsolatedWorkTests.right)
    }
  }

  @Test("a thread that stays waits where no filter of system calls can refuse it")
  func parked() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      _ = try? Shield.isolated { shelf(0) }
      guard let thread = try incidents().first?.useTid else { complain("no incident") }
      // Behind the call's number its arguments: FUTEX_WAKE_PRIVATE of what woke the caller, and then FUTEX_WAIT_PRIVATE.
      while true {
        let call = try systemCall(of: thread)
        if call.first == "running" || call.dropFirst(2).first == "0x81" {
          sched_yield()
        } else {
          Glibc.exit(call.dropFirst(2).first == "0x80" ? IsolatedWorkTests.right : 1)
        }
      }
    }
  }

  @Test("so does one where the C library is not told from the program, and the reason is told")
  func unknownLibrary() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        // It stays for as long as the process.
        unsafe cs_testing_isolated_ignore(strdup("libc.so"))
        guard Shield.isolationObstacle == "the C library is not found among the images" else { complain("no reason") }
        _ = try Shield.isolated { shelf(0) }
      }
    }
  }

  @Test("so does one beyond any work, before and after")
  func outside() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash {
        start()
        guard (try? Shield.isolated { shelf(0) }) == nil, (try? Shield.isolated { 1 }) == 1 else { Glibc.exit(1) }
        _ = shelf(0)
      }
    }
  }

  @Test("without the shield a trap is as ever")
  func notStarted() async {
    await #expect(processExitsWith: .signal(SIGILL)) {
      await mustCrash { _ = try Shield.isolated { shelf(0) } }
    }
  }

  @Test("a handler that was installed after ours is not left in the middle")
  func anotherHandler() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      // It ends the process, which a contained trap would not.
      Glibc.signal(SIGILL) { _ in _exit(IsolatedWorkTests.right) }
      _ = try Shield.isolated { shelf(0) }
    }
  }

  @Test("a child that the work has forked is not contained, and the parent's work goes on")
  func forked() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let status = try Shield.isolated {
        let child = fork_()
        if child == 0 { _ = shelf(0) }
        var status: Int32 = 0
        // It waits for the child, whatever interrupts it.
        while unsafe waitpid(child, &status, 0) == -1 && errno == EINTR {}
        return status
      }
      Glibc.exit(status & 0x7f == SIGILL && Shield.isolationTraps == 0 ? IsolatedWorkTests.right : 1)
    }
  }

  @Test("a child that the work has forked is in no work")
  func forkedChildIsInNone() async {
    await #expect(processExitsWith: .exitCode(Self.right)) {
      start()
      let status = try Shield.isolated {
        let child = fork_()
        if child == 0 { _exit(unsafe cs_shim_isolated_hold(nil) == nil ? IsolatedWorkTests.right : 1) }
        var status: Int32 = 0
        // It waits for the child, whatever interrupts it.
        while unsafe waitpid(child, &status, 0) == -1 && errno == EINTR {}
        return status
      }
      Glibc.exit(status >> 8)
    }
  }

  @Test("a crash has its words, however much was said of traps that were contained")
  func manyWords() async throws {
    let spool = FileManager.default.temporaryDirectory.appending(path: "cs-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: spool) } }
    let directory = spool.path
    await #expect(processExitsWith: .signal(SIGILL)) { [directory = directory as String] in
      start(spool: directory)
      for _ in 0..<IsolatedWorkTests.longTraps {
        _ = try? Shield.isolated { fatalError(String(repeating: "x", count: opaque(10_000))) }
      }
      guard Shield.isolationTraps == IsolatedWorkTests.longTraps else { Glibc.exit(1) }
      fatalError("the last words")
    }
    let contents = try Self.contents(of: directory)
    #expect(contents.records.count == 1 && contents.records.first?.message.contains("the last words") == true)
    #expect(contents.records.first?.message.contains("xxx") == false)
    #expect(contents.incidents.count == Self.longTraps)
    #expect(contents.incidents.allSatisfy { $0.subject.hasSuffix("xxx") })
  }

  @Test("a crash after a trap that was contained has words of its own, and the threads that stay do not hinder it")
  func laterCrash() async throws {
    let spool = FileManager.default.temporaryDirectory.appending(path: "cs-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: spool, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: spool) } }
    let directory = spool.path
    await #expect(processExitsWith: .signal(SIGSEGV)) { [directory = directory as String] in
      start(spool: directory)
      for _ in 0..<3 { _ = try? Shield.isolated { shelf(0) } }
      guard Shield.isolationTraps == 3 else { Glibc.exit(1) }
      unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(8))?.pointee = 1
    }
    let contents = try Self.contents(of: directory)
    #expect(contents.records.count == 1 && contents.survived == 0)
    #expect(contents.records.first?.signal == SIGSEGV && contents.records.first?.message == "")
    #expect(contents.incidents.count == 3)
  }

  /// The only ring in a spool directory.
  private static func contents(of directory: String) throws -> RingContents {
    let name = try #require(try FileManager.default.contentsOfDirectory(atPath: directory).first)
    // A path without a NUL.
    let descriptor = unsafe open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW)
    defer { close(descriptor) }
    return try RingMapping(spoolFile: descriptor).contents()
  }
}

/// Whether this is a run under a sanitizer.
private let isSanitized = ["__asan_init", "__tsan_init"].contains { (name: String) in
  // A look-up in what is loaded; the name is a C string for the time of the call.
  unsafe dlsym(nil, name) != nil
}

private struct Broken: Error {}

private func returnsWhatItsWorkDoes() -> Bool { (try? Shield.isolated { "a result" }) == "a result" }

private func failsAsItsWork() -> Bool {
  do {
    return try Shield.isolated { throw Broken() }
  } catch { return error is Broken }
}

private func failsAsItsWork() async -> Bool {
  do {
    return try await Shield.isolated {
      await Task.yield()
      throw Broken()
    }
  } catch { return error is Broken }
}

private func isEndedFromWithin() -> Bool {
  do {
    try Shield.isolated { if opaque(true) { pthread_exit(nil) } }
    return false
  } catch {
    return error as? ShieldFault == .refused("the thread of isolated work was ended from within")
  }
}

/// Does what must end the process.
///
/// An error that left the body of an exit test would end it as a trap does, by SIGILL.
private func mustCrash(_ work: () async throws -> Void) async {
  do { try await work() } catch { complain("not crashed: \(error)") }
  complain("not crashed")
}

/// In a function that is async, work that is not is asynchronous work all the same.
private func emptyShelf() async throws { _ = try await Shield.isolated { shelf(0) } }

/// In a function that is not async, work is synchronous.
private func cancelInIsolatedWork(_ task: Task<Void, Never>) throws { try Shield.isolated { task.cancel() } }

private func isOpen(_ gate: ExclusiveGate) -> Bool { gate.run { true } ?? false }

/// Runs where its task likes to, whoever calls it.
@concurrent
private func trapAtHome() async { _ = shelf(0) }

/// Work that is not on the isolated thread.
private actor Elsewhere {
  static let shared = Elsewhere()
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var isOpen = false

  func next(_ number: Int) -> Int { number + 1 }

  func thread() -> pid_t { CrashRingTests.thread() }

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

private struct Label: CustomStringConvertible {
  var description: String { "\(shelf(0))" }
}

private enum Lazy {
  static let shelf = CrashRingTests.shelf(0)
}

/// The number of the thread that this is called on.
@inline(never)
private func thread() -> pid_t { thread_() }

/// Traps for each tenth number, with words.
@inline(never)
private func shelf(_ number: Int) -> Int {
  if opaque(number) % 10 == 0 { fatalError("shelf \(number) is empty") }
  return number
}

@inline(never)
@_optimize(none)
private func opaque<Value>(_ value: Value) -> Value { value }

private func start(spool: String = "/nonexistent/spool") {
  do {
    try Shield.start(.init(socket: "/nonexistent/attach", spool: spool))
  } catch {
    complain("\(error)")
  }
}

private func complain(_ text: String) -> Never {
  FileHandle.standardError.write(Data("\(text)\n".utf8))
  Glibc.exit(1)
}

/// What this process has told.
private func ring() throws -> RingContents {
  // The capture's own mapping: a whole ring, there until the process ends.
  try unsafe RingReader(
    bytes: UnsafeRawBufferPointer(start: cs_testing_ring(), count: MemoryLayout<cs_ring>.size)
  ).contents()
}

private func incidents() throws -> [Incident] { try ring().incidents }

/// The number of the system call that a thread is in, and its arguments; "running" in none.
private func systemCall(of thread: Int32) throws -> [Substring] {
  try String(contentsOfFile: "/proc/self/task/\(thread)/syscall", encoding: .utf8).split { $0.isWhitespace }
}

/// So many incidents of isolated work, each of one trap, with its words and its stack.
private func check(incidents count: Int, haveWords: Bool = true) throws {
  let contents = try ring()
  let incidents = contents.incidents
  let here = contents.images.filter(\.isExecutable)
  let areWhole = incidents.allSatisfy { incident in
    incident.source == .isolated && incident.count == 1 && incident.isExact && incident.mode == .absorb
      && incident.kind == cs_ring_isolated.CS_RING_ISOLATED_TRAP.rawValue && incident.useTid != nil
      && (!haveWords || incident.subject.contains("is empty"))
      && incident.use.contains { pc in here.contains { $0.start <= pc && pc < $0.end } }
  }
  guard incidents.count == count, areWhole, contents.records.isEmpty else {
    complain("\(incidents.count) incidents: \(incidents.first.map { "\($0)" } ?? "")")
  }
}

/// glibc has it, under a condition that Swift does not meet.
@_silgen_name("gettid")
private func thread_() -> pid_t

/// Swift hides it.
@_silgen_name("fork")
private func fork_() -> pid_t

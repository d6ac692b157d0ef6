import CShimRing
import CrashShield
import Dispatch
import Foundation
import Glibc
import Synchronization
import Testing

/// Tests the thread pool of containment, whose threads run the program's Swift tasks.
///
/// Each test runs in its own process.
@Suite("The pool of containment", .unlessSanitized)
struct PoolTests {
  @Test("tasks of all priorities, task groups, async let, actors and continuations after an await run on the pool")
  func kinds() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      for priority: TaskPriority in [.high, .medium, .low, .background] {
        #expect(await Task.detached(priority: priority) { threadName() }.value == "swift-pool")
      }
      let names = await Task.detached {
        var names = [threadName()]
        await Task.yield()
        names.append(threadName())
        try? await Task.sleep(for: .milliseconds(1))
        names.append(threadName())
        await withCheckedContinuation { continuation in DispatchQueue.global().async { continuation.resume() } }
        names.append(threadName())
        async let child = threadName()
        names.append(await child)
        names += await withTaskGroup(of: String.self) { group in
          for _ in 0..<4 { group.addTask { threadName() } }
          return await group.reduce(into: []) { $0.append($1) }
        }
        names.append(await Namer().name())
        let (stream, continuation) = AsyncStream.makeStream(of: Int.self)
        DispatchQueue.global().async {
          continuation.yield(1)
          continuation.finish()
        }
        for await _ in stream { names.append(threadName()) }
        return names
      }.value
      #expect(names.count == 11 && names.allSatisfy { $0 == "swift-pool" }, "\(names)")
      #expect(await MainActor.run { threadName() } != "swift-pool")
      exit(rightStatus)
    }
  }

  @Test("a background task runs while tasks of a high priority fill the pool")
  func fairness() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      let shared = Shared()
      // Each of these tasks enqueues itself again until the background task has run. If the pool always preferred tasks
      // of a high priority, the test would never end.
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<64 {
          group.addTask(priority: .high) {
            while !shared.isDone.load(ordering: .relaxed) { await Task { () }.value }
          }
        }
        group.addTask(priority: .background) { shared.isDone.store(true, ordering: .relaxed) }
      }
      exit(rightStatus)
    }
  }

  @Test("after traps, the pool still runs as many tasks at the same time as there are processors")
  func seats() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      startContained()
      let width = sysconf(Int32(_SC_NPROCESSORS_ONLN))
      for _ in 0..<2 * width { _ = try? await contained { shelf(0) } }
      let shared = Shared()
      await withTaskGroup(of: Void.self) { group in
        for _ in 0..<width {
          group.addTask {
            shared.running.add(1, ordering: .relaxed)
            while shared.running.load(ordering: .relaxed) < width { sched_yield() }
          }
        }
      }
      exit(rightStatus)
    }
  }

  @Test("if another library has set the enqueue hook, containment is off with a reason, and tasks run as before")
  func takenHook() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      let passOn: @convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Void = { job, original in
        // Invariant: `original` is the runtime's own function, which takes a job.
        unsafe unsafeBitCast(original, to: (@convention(c) (UnsafeRawPointer) -> Void).self)(job)
      }
      guard let hook = unsafe dlsym(nil, "swift_task_enqueueGlobal_hook") else { complain("no hook") }
      // Invariant: the symbol is a variable that holds a function pointer, and no other thread writes it.
      unsafe hook.storeBytes(of: passOn, as: (@convention(c) (UnsafeRawPointer, UnsafeRawPointer) -> Void).self)
      var configuration = Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool")
      configuration.containment = .contain(budget: 1)
      try Shield.startOrThrow(configuration)
      #expect(Shield.status.containmentObstacle == "other code receives the jobs of Swift's global executor")
      let thread = try await contained { threadName() }
      #expect(thread != "swift-pool")
      exit(rightStatus)
    }
  }

  @Test(
    "with an invalid CRASHSHIELD_CONTAINMENT, containment is off with a reason, and the shield starts",
    arguments: ["contain", "contain:0", "contain:201", "contain:x", "on", "drain:1"])
  func invalidEnvironment(value: String) async {
    await #expect(processExitsWith: .exitCode(rightStatus)) { [value = value as String] in
      var configuration = Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool")
      configuration.containment = .contain(budget: 3)
      // Invariant: no other thread reads the environment here.
      unsafe setenv("CRASHSHIELD_CONTAINMENT", value, 1)
      try Shield.startOrThrow(configuration)
      #expect(Shield.isStarted && Shield.status.startError == nil)
      #expect(Shield.status.containmentObstacle?.hasPrefix("CRASHSHIELD_CONTAINMENT is not off, drain or") == true)
      #expect(RingBytes.here.header.containment_mode == 0)
      let thread = try await contained { threadName() }
      #expect(thread != "swift-pool")
      exit(rightStatus)
    }
  }

  @Test("CRASHSHIELD_CONTAINMENT replaces the program's mode, but the values in the program must still be in range")
  func environment() async {
    await #expect(processExitsWith: .exitCode(rightStatus)) {
      var configuration = Shield.Configuration(socket: "/dev/null/attach", spool: "/dev/null/spool")
      for wrong in [Shield.Containment.contain(budget: 0), .contain(budget: 201), .drain(grace: .seconds(-1))] {
        configuration.containment = wrong
        #expect(throws: Shield.StartError.self) { try Shield.startOrThrow(configuration) }
      }
      configuration.containment = .off
      // Invariant: no other thread reads the environment here.
      unsafe setenv("CRASHSHIELD_CONTAINMENT", "contain:3", 1)
      try Shield.startOrThrow(configuration)
      #expect(RingBytes.here.header.containment_budget == 3)
      let thread = try await contained { threadName() }
      #expect(thread == "swift-pool" && Shield.status.containmentObstacle == nil)
      exit(rightStatus)
    }
  }
}

private final class Shared: Sendable {
  let isDone = Atomic(false)
  let running = Atomic(0)
}

private actor Namer {
  func name() -> String { threadName() }
}

private func threadName() -> String {
  let name = try? String(contentsOfFile: "/proc/thread-self/comm", encoding: .utf8)
  return String(name?.dropLast() ?? "")
}

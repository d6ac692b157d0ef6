internal import CTestKit
internal import CrashShield
internal import CrashShieldGuards
internal import Dispatch
internal import Glibc

private struct Printed: CustomStringConvertible {
  var description: String { "\(boom())" }
}

private enum Local {
  @TaskLocal static var value = 0
}

private let gate = ExclusiveGate()

extension Way {
  /// Traps after which the shield cannot know whether the process can continue, so that it drains.
  static let drained: [Way] = [
    Way("deeper-than-the-unwind") { _ = boom(below: 300) },
    Way("immediate") { await Task.immediate { _ = boom() }.value },
    Way("executor-preference") { await withTaskExecutorPreference(OwnExecutor()) { _ = boom() } },
    Way("default-executor-preference") {
      await Task(executorPreference: globalConcurrentExecutor) { _ = boom() }.value
    },
    Way("cancellation-handler") {
      let task = Task {
        await withTaskCancellationHandler {
          try? await Task.sleep(for: .seconds(600))
        } onCancel: {
          boom()
        }
      }
      try await Task.sleep(for: .milliseconds(2))
      task.cancel()
    },
    Way("stream-termination") {
      let (stream, continuation) = AsyncStream<Int>.makeStream()
      continuation.onTermination = { _ in boom() }
      continuation.finish()
      for await _ in stream {}
    },
    Way("measure") { _ = ContinuousClock().measure { boom() } },
    Way("task-local-body") { Local.$value.withValue(1) { _ = boom() } },
    Way("checked-continuation") {
      _ = await withCheckedContinuation { continuation in continuation.resume(returning: boom()) }
    },
    Way("print") { print(Printed()) },
    Way("qsort") {
      var numbers: [CInt] = [3, 1, 2]
      // Invariant: the count and the size are those of the array.
      unsafe qsort(&numbers, 3, 4) { _, _ in CInt(truncatingIfNeeded: boom()) }
    },
    Way("dispatch-sync") { _ = DispatchQueue(label: "sync").sync { boom() } },
    Way("dispatch-async") {
      _ = await withCheckedContinuation { continuation in
        DispatchQueue.global().async { continuation.resume(returning: boom()) }
      }
    },
    Way("thread") { ch_on_thread(boomForC) },
    Way("detached") { _ = await Task.detached { boom() }.value },
    Way("outlives") {
      Task {
        // This task waits until its request has ended, and then traps.
        while ch_get(CH_BAD_RETURNED) == 0 { try? await Task.sleep(for: .milliseconds(1)) }
        boom()
      }
    },
    Way("gate") { _ = gate.run { boom() } },
    Way("allocator") { _ = ch_in_allocator(boomForC) },
  ]
}

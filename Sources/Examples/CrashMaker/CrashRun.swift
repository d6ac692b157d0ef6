public import CrashShield
internal import Dispatch
internal import Glibc

/// One run of a scenario: its thread, and the options for the shield and for measurements.
public struct CrashRun: Sendable {
  /// The thread on which the fault happens.
  public enum Thread: String, Sendable, CaseIterable {
    /// The process's first thread.
    case main
    /// A worker of a Dispatch queue.
    case dispatch
    /// A Swift task on the cooperative pool, with three awaits on its stack at the fault.
    case task
    /// A POSIX thread.
    case pthread
    /// A POSIX thread with a small stack, as libraries create for helper threads.
    case smallStack = "small-stack"
  }

  /// The reason why a run did not crash.
  public enum Failure: Error, Equatable {
    /// The shield did not start.
    case start(Shield.StartError)
    /// crashd did not accept the process in time.
    case notAttached
    /// The thread could not be created.
    case thread(errno: Int32)
    /// The class does not exist, or cannot be protected.
    case notProtected(String)
    /// The fault did not end the process.
    case survived
  }

  /// The timeout of `waitsForAttach`, without the time in which the machine is suspended.
  public static let attachLimit_s = 300

  /// The stack size of `Thread.smallStack`: 64 KiB, or the smallest stack of the platform, which is 128 KiB on AArch64.
  public static let smallStackBytes = max(65_536, sysconf(Int32(_SC_THREAD_STACK_MIN)))

  /// The scenario.
  public var scenario: Scenario
  /// The thread that crashes.
  public var thread: Thread
  /// Whether to set the annotation `fault-monotonic-ns` immediately before the fault, for benchmarks.
  public var isMarked = false
  /// Whether to wait until crashd has received the ring.
  public var waitsForAttach = false
  /// Whether to wait after the attach until standard input has a byte or is closed.
  public var waitsForInput = false

  /// The annotations that are set in addition to the annotation `scenario`.
  public var annotations: [String: String] = [:]

  /// Full names of the classes to protect (`Shield.protect`).
  public var protectedClasses: [String] = []

  /// The number of crashes in isolated work, each of which must be contained; 0 means that the crash is outside of
  /// isolated work.
  public var containedRuns = 0

  /// The value for `Shield.maximumContainedFaults`; if nil, `containedRuns` is used.
  public var maximumContainedFaults: Int?

  /// The operation of the request that crashes, or nil for a crash outside of requests.
  public var request: String?

  /// The number of other requests in flight.
  public var otherRequestCount = 0
  /// The number of requests that end before the crash.
  public var servedRequestCount = 0

  /// Creates a run; if `thread` is nil, uses a thread on which the scenario can run.
  public init(_ scenario: Scenario, thread: Thread? = nil) {
    self.scenario = scenario
    self.thread = thread ?? scenario.threads.first ?? .main
  }

  /// Starts the shield and crashes, or returns the reason why there was no crash.
  public func run() -> Failure {
    scenario.prepare?()
    let (told, attached) = (DispatchSemaphore(value: 0), DispatchSemaphore(value: 0))
    let scenario = scenario
    do throws(Shield.StartError) {
      try Shield.startOrThrow(
        Shield.Configuration(tags: annotations.merging(["scenario": scenario.name]) { $1 }) { status in
          if status.connection == .attached {
            if case .status(let fault) = scenario.fault { fault() }
            attached.signal()
          }
          told.signal()
        })
    } catch {
      return .start(error)
    }
    for name in protectedClasses where !protect(name) { return .notProtected(name) }
    if waitsForAttach && Shield.isStarted {
      guard Self.wait(for: attached) else { return .notAttached }
      print("attached")
      fflush(nil)
    }
    if scenario.awaitsStatus && Shield.isStarted && !Self.wait(for: told) { return .notAttached }
    if waitsForInput {
      // Ignore the result: an error of getchar also ends the wait.
      _ = getchar()
    }
    beginOtherRequests()
    Shield.addBreadcrumb("about to crash: \(scenario.name)")
    return containedRuns > 0 ? crashIsolated() : crash()
  }

  /// Crashes in isolated work; does not return if a fault is not contained, because the process then ends.
  private func crashIsolated() -> Failure {
    guard case .synchronous(let fault) = fault else { return .survived }
    Shield.maximumContainedFaults = maximumContainedFaults ?? containedRuns
    let (count, isInTask) = (containedRuns, thread == .task)
    let done = DispatchSemaphore(value: 0)
    if isInTask {
      Task.detached {
        for _ in 0..<count { try? await Shield.isolated { await handleRequest(fault) } }
        done.signal()
      }
      done.wait()
    } else {
      for _ in 0..<count { try? Shield.isolated { fault() } }
    }
    return .survived
  }

  /// Wait in steps of one second.
  ///
  /// The time in which the machine is suspended then uses up only one step.
  private static func wait(for semaphore: DispatchSemaphore) -> Bool {
    (0..<attachLimit_s).contains { _ in semaphore.wait(timeout: .now() + .seconds(1)) == .success }
  }

  private func protect(_ name: String) -> Bool {
    do throws(Shield.ProtectionError) {
      return try !Shield.protect(.named(name)).protected.isEmpty
    } catch {
      return false
    }
  }

  private func crash() -> Failure {
    let isMarked = isMarked
    switch (fault, thread) {
    case (.asynchronous(let fault), _):
      crashInTask(fault, isMarked: isMarked)
    case (.synchronous(let fault), .main):
      mark(isMarked)
      fault()
    case (.synchronous(let fault), .task):
      crashInTask({ await handleRequest(fault) }, isMarked: isMarked)
    case (.synchronous(let fault), .dispatch):
      let done = DispatchSemaphore(value: 0)
      DispatchQueue(label: "crash-maker").async {
        mark(isMarked)
        fault()
        done.signal()
      }
      done.wait()
    case (.synchronous(let fault), .pthread):
      if let errno = crashInThread(fault, isMarked: isMarked) { return .thread(errno: errno) }
    case (.synchronous(let fault), .smallStack):
      let error = crashInThread(fault, isMarked: isMarked, stackBytes: Self.smallStackBytes)
      if let errno = error { return .thread(errno: errno) }
    case (.status(let fault), _):
      // If the shield did not start, it does not call the callback that causes the fault, so call the fault directly.
      if !Shield.isStarted { fault() }
    }
    return .survived
  }
}

/// Records the time immediately before the fault, for benchmarks.
///
/// The time becomes an annotation of the report. The program also prints it on standard output, for runs without the
/// shield.
private func mark(_ isMarked: Bool) {
  guard isMarked else { return }
  var now = timespec()
  // Invariant: clock_gettime fills in `now`, and uses the pointer only during the call.
  unsafe clock_gettime(CLOCK_MONOTONIC, &now)
  let mark = String(now.tv_sec * 1_000_000_000 + now.tv_nsec)
  Shield.setTag("fault-monotonic-ns", to: mark)
  let line = Array("fault-monotonic-ns \(mark)\n".utf8)
  // Invariant: the array outlives the call.
  _ = unsafe line.withUnsafeBytes { unsafe write(STDOUT_FILENO, $0.baseAddress, $0.count) }
}

private func crashInTask(_ fault: @escaping @Sendable () async -> Void, isMarked: Bool) {
  let done = DispatchSemaphore(value: 0)
  Task.detached {
    mark(isMarked)
    await fault()
    done.signal()
  }
  done.wait()
}

// These three functions await each other, so that the report of a scenario in a task has async callers. Each function
// computes something after its await, so that its async frame still exists at the fault.

@inline(never) private func handleRequest(_ fault: @Sendable () -> Void) async {
  await runHandler(fault)
  Shield.addBreadcrumb("still alive")
}

@inline(never) private func runHandler(_ fault: @Sendable () -> Void) async {
  await performFault(fault)
  Shield.addBreadcrumb("still alive")
}

@inline(never) private func performFault(_ fault: @Sendable () -> Void) async {
  fault()
  Shield.addBreadcrumb("still alive")
}

/// The argument of `pthread_create`.
private final class ThreadBody: Sendable {
  let fault: @Sendable () -> Void
  let isMarked: Bool

  init(_ fault: @escaping @Sendable () -> Void, isMarked: Bool) {
    self.fault = fault
    self.isMarked = isMarked
  }
}

/// Returns the error of pthread_create, or nil if the thread ended.
private func crashInThread(
  _ fault: @escaping @Sendable () -> Void, isMarked: Bool, stackBytes: Int? = nil
) -> Int32? {
  let context = unsafe Unmanaged.passRetained(ThreadBody(fault, isMarked: isMarked))
  var thread = pthread_t()
  var attributes = pthread_attr_t()
  // Invariant: pthread_attr_init initializes the attributes before any other call uses them.
  unsafe pthread_attr_init(&attributes)
  defer { unsafe pthread_attr_destroy(&attributes) }
  if let stackBytes { unsafe pthread_attr_setstacksize(&attributes, stackBytes) }
  // Invariant: the context is retained, and the thread takes ownership of this reference.
  let error = unsafe pthread_create(
    &thread, &attributes,
    { context in
      guard let context = unsafe context else { return nil }
      // Invariant: passRetained created this reference, and only this line consumes it.
      let body = unsafe Unmanaged<ThreadBody>.fromOpaque(context).takeRetainedValue()
      mark(body.isMarked)
      body.fault()
      return nil
    }, context.toOpaque())
  if error != 0 {
    unsafe context.release()
    return error
  }
  pthread_join(thread, nil)
  return nil
}

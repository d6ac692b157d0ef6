// The ways in which a request runs code, and the faults that end the code.
import CShim
import CrashShield
import Dispatch
import Foundation
import Glibc
import Synchronization
import TestKit

/// The place of a fault relative to requests, such as a child task of a request.
enum RequestWay: String, CaseIterable, Codable, Sendable {
  case isolated, taskOfIsolated
  case synchronous, synchronousInTask, nestedSynchronous, task, afterSleep, nested, afterNested, asyncLet, groupChild
  case grandchild, unstructured, unstructuredOfSynchronous, actor, actorAfterAwait, mainActor, immediate
  case otherLocals, asyncLetOfLocals
  case none, detached, dispatch, thread, after, outlived

  /// The operation of the request that the report must name; nil if it must name no request.
  var expected: String? {
    switch self {
    case .none, .detached, .dispatch, .thread, .after, .outlived: nil
    case .nested, .nestedSynchronous: "inner"
    default: "the request"
    }
  }

  /// Runs the fault at this place.
  func run(_ fault: RequestFault) async {
    switch self {
    case .synchronous, .nestedSynchronous, .unstructuredOfSynchronous, .isolated, .taskOfIsolated, .dispatch, .thread,
      .after, .outlived:
      await runSynchronous(fault)
    case .none: fault.happen()
    default: await Shield.withRequest("the request") { await runInside(fault) }
    }
  }

  /// Runs the fault on a thread without a task.
  private func runSynchronous(_ fault: RequestFault) async {
    let way = self
    Thread.detachNewThread { way.runOnThread(fault) }
    // The crash of this thread ends the process.
    while true { await Task.yield() }
  }

  private func runOnThread(_ fault: RequestFault) {
    switch self {
    case .nestedSynchronous:
      Shield.withRequest("the request") { Shield.withRequest("inner") { fault.happen() } }
    case .unstructuredOfSynchronous:
      Shield.withRequest("the request") {
        Task { fault.happen() }
        sleepForever()
      }
    case .isolated, .taskOfIsolated:
      // With this budget, the shield contains no trap, so each fault ends the process.
      Shield.maximumContainedFaults = 0
      Shield.withRequest("the request") {
        try? Shield.isolated { [self] in
          if self == .isolated { fault.happen() }
          Task { fault.happen() }
          sleepForever()
        }
      }
    case .dispatch:
      Shield.withRequest("the request") {
        DispatchQueue.global().async { fault.happen() }
        sleepForever()
      }
    case .thread:
      Shield.withRequest("the request") {
        Thread.detachNewThread { fault.happen() }
        sleepForever()
      }
    case .after:
      Shield.withRequest("the request") {}
      fault.happen()
    case .outlived:
      let hasEnded = Flag()
      Shield.withRequest("the request") {
        _ = Task {
          while !hasEnded.isSet { await Task.yield() }
          fault.happen()
        }
      }
      // The next request on this thread reuses the entry of the request that has ended.
      Shield.withRequest("another request") {
        hasEnded.set()
        sleepForever()
      }
    default: Shield.withRequest("the request") { fault.happen() }
    }
  }

  private func runInside(_ fault: RequestFault) async {
    switch self {
    case .synchronousInTask:
      Shield.withRequest("the request") { fault.happen() }
    case .afterSleep:
      for _ in 0..<20 { try? await Task.sleep(for: .milliseconds(1)) }
      fault.happen()
    case .nested: await Shield.withRequest("inner") { await Worker().run(fault) }
    case .afterNested:
      await Shield.withRequest("inner") { await Task.yield() }
      fault.happen()
    case .asyncLet:
      async let end: Void = fault.happenLater()
      await end
    case .groupChild: await withTaskGroup { group in group.addTask { await fault.happenLater() } }
    case .grandchild:
      await withTaskGroup { group in
        group.addTask {
          async let end: Void = Task { await fault.happenLater() }.value
          await end
        }
      }
    case .unstructured: await Task { await fault.happenLater() }.value
    case .actor: await Worker().run(fault)
    case .actorAfterAwait: await Worker().runAfterAwait(fault)
    case .mainActor: await MainActor.run { fault.happen() }
    case .immediate: await Task.immediate { fault.happen() }.value
    case .otherLocals: await Local.$one.withValue("1") { await Local.$two.withValue(2) { await fault.happenLater() } }
    case .asyncLetOfLocals:
      await Local.$one.withValue("1") {
        async let end: Void = Local.$two.withValue(2) { await fault.happenLater() }
        await end
      }
    case .detached: await Task.detached { fault.happen() }.value
    default: fault.happen()
    }
  }
}

/// A fault that ends the process.
enum RequestFault: String, CaseIterable, Codable, Sendable {
  case trap, badAccess, abort, busError, floatingPoint

  var signal: Int32 {
    switch self {
    case .trap: trapSignal
    case .badAccess: SIGSEGV
    case .abort: SIGABRT
    case .busError: SIGBUS
    case .floatingPoint: SIGFPE
    }
  }

  /// Causes the fault.
  ///
  /// Does not return.
  @inline(never)
  func happen() {
    switch self {
    case .trap: _ = shelf(0)
    // Address 8 is never mapped.
    case .badAccess: unsafe UnsafeMutablePointer<Int>(bitPattern: opaque(8))?.pointee = 1
    case .abort: Glibc.abort()
    case .busError, .floatingPoint: raise(signal)
    }
    complain("not crashed")
  }

  func happenLater() async {
    await Task.yield()
    happen()
  }
}

private enum Local {
  @TaskLocal static var one = ""
  @TaskLocal static var two = 0
}

private actor Worker {
  func run(_ fault: RequestFault) { fault.happen() }

  func runAfterAwait(_ fault: RequestFault) async {
    await Task.yield()
    try? await Task.sleep(for: .milliseconds(1))
    fault.happen()
  }
}

private final class Flag: Sendable {
  private let value = Atomic(false)

  var isSet: Bool { value.load(ordering: .acquiring) }

  func set() { value.store(true, ordering: .releasing) }
}

/// The thread waits until the crash ends the process.
private func sleepForever() {
  while true { pause() }
}

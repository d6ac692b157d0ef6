// The rules for programs that a runtime stopped without a message. These rules use the frames of the crashing thread.
import CrashReport
import CrashRing
import Glibc

extension DiagnosisRule {
  static let runtimes: [DiagnosisRule] = [
    DiagnosisRule("wrong-executor", 0.95, on: [.signal, .frames]) { facts in
      guard facts.isStop, facts.isStopped(in: wrongExecutorFunctions) else { return nil }
      return "Actor-isolated code ran on another executor"
    },
    // The preceding rule must match first, because failed checks of Swift's concurrency runtime also call libdispatch.
    DiagnosisRule("dispatch-precondition", 0.95, on: [.signal, .frames]) { facts in
      guard facts.isStop, facts.isStopped(in: ["dispatch_assert_queue"]) else { return nil }
      if facts.isStopped(in: ["dispatch_assert_queue_not"]) {
        return "Code ran on a queue that it asserts not to be on"
      }
      return "Code ran on another queue than it asserts"
    },
    DiagnosisRule("dispatch-misuse", 0.95, on: [.signal, .frames]) { facts in
      let frames = facts.frames.prefix(while: isOfDispatch)
      guard facts.isStop, !frames.isEmpty else { return nil }
      // Use the first frame with a name, because Debian's libdispatch.so has only the names of exported functions.
      let name = frames.first { !$0.mangled.isEmpty }.map { " (\(MessageText.stem($0.mangled)))" } ?? ""
      return "libdispatch stopped the program because of an API misuse\(name),"
    },
  ]

  private static func isOfDispatch(_ frame: CrashReport.Frame) -> Bool {
    frame.image?.split(separator: "/").last?.hasPrefix("libdispatch.so") == true
      || !frame.isOwn && dispatchNames.contains(where: frame.mangled.hasPrefix)
  }

  /// The rules for programs that the C++ runtime ends although no exception was thrown.
  static let cxxRuntime: [DiagnosisRule] = [
    DiagnosisRule("pure-virtual-call", 0.95, on: [.signal, .frames]) { facts in
      guard facts.isStop else { return nil }
      if facts.isStopped(in: ["__cxa_pure_virtual"]) {
        return "A pure virtual function was called, perhaps on an object that is being constructed or destroyed,"
      }
      return facts.isStopped(in: ["__cxa_deleted_virtual"]) ? "A deleted virtual function was called" : nil
    },
    DiagnosisRule("joinable-thread", 0.95, on: [.signal, .exception, .frames]) { facts in
      guard facts.isStop, facts.record.exceptionType.isEmpty, facts.isTerminating,
        facts.isStopped(in: ["_ZNSt6threadD", "_ZNSt6threadaSEOS_"])
      else { return nil }
      return "A joinable std::thread was destroyed or assigned to, neither joined nor detached,"
    },
    DiagnosisRule("cxx-terminate", 0.9, on: [.signal, .exception, .frames]) { facts in
      guard facts.isStop, facts.record.exceptionType.isEmpty, facts.isCxxTerminateCalled else { return nil }
      return "std::terminate() was called, without an exception,"
    },
  ]

  /// The prefixes of the functions in a statically linked libdispatch.
  ///
  /// If an in-app function has one of these prefixes, the function belongs to the program and not to libdispatch.
  private static let dispatchNames = ["dispatch_", "_dispatch_", "__dispatch_", "___dispatch_", "__DISPATCH_"]

  private static let wrongExecutorFunctions = [
    "swift_task_checkIsolated", "swift_task_reportUnexpectedExecutor", "_checkExpectedExecutor", "assumeIsolated",
  ]
}

extension CrashFacts {
  /// The number of innermost frames that are searched for the runtime that stopped the program.
  private static let reach = 8

  /// Whether the C++ runtime itself called std::terminate(), for example for an uncaught exception.
  ///
  /// The value is false if in-app code called terminate(), because the program had perhaps caught the exception before.
  var isTerminating: Bool {
    let names = frames.prefix(Self.reach).map(\.mangled)
    guard let last = names.lastIndex(where: Self.terminating.contains) else { return false }
    if names[last] == "__clang_call_terminate" { return true }
    return !(frames.indices.contains(last + 1) && frames[last + 1].isOwn)
  }

  /// Whether std::terminate() is among the innermost frames, before any in-app frame.
  ///
  /// The caller of std::terminate() can be any function.
  var isCxxTerminateCalled: Bool {
    let names = frames.prefix(Self.reach).map(\.mangled)
    guard let last = names.firstIndex(of: "_ZSt9terminatev") else { return false }
    return !frames.prefix(last).contains(where: \.isOwn)
  }

  /// Whether an in-app function called abort() directly.
  var isAbortCalledByOwn: Bool {
    guard let abort = frames.prefix(Self.reach).firstIndex(where: { $0.mangled == "abort" }) else { return false }
    return frames.indices.contains(abort + 1) && frames[abort + 1].isOwn
  }

  private static let terminating: Set = [
    "_ZSt9terminatev", "_ZN10__cxxabiv111__terminateEPFvvE", "_ZN9__gnu_cxx27__verbose_terminate_handlerEv",
    "__clang_call_terminate",
  ]

  /// Whether a function whose name contains one of `names` is among the innermost frames, and no in-app function
  /// precedes this function.
  func isStopped(in names: [String]) -> Bool {
    for frame in frames.prefix(Self.reach) {
      if names.contains(where: frame.mangled.contains) { return true }
      if frame.isOwn { return false }
    }
    return false
  }
}

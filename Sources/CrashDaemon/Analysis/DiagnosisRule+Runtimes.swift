// Runtimes that stop a program and leave no words: what they were doing tells.
import CrashReport
import CrashRing
import Glibc

extension DiagnosisRule {
  static let runtimes: [DiagnosisRule] = [
    DiagnosisRule("wrong-executor", 0.95, on: [.signal, .message, .frames]) { facts in
      let isSaid = facts.record.message.contains("Incorrect actor executor assumption")
      guard facts.isStop, isSaid || facts.isStopped(in: wrongExecutorFunctions) else { return nil }
      return "Code that belongs to an actor ran elsewhere"
    },
    DiagnosisRule("dispatch-misuse", 0.95, on: [.signal, .frames]) { facts in
      guard facts.isStop, let frame = facts.frames.first,
        frame.image?.split(separator: "/").last?.hasPrefix("libdispatch.so") == true
          || frame.mangled.contains("ispatch_")
          || frame.mangled.hasPrefix("__DISPATCH_")
      else { return nil }
      return "libdispatch stopped the program, which uses it wrongly (\(MessageText.stem(frame.mangled))),"
    },
  ]

  private static let wrongExecutorFunctions = [
    "swift_task_checkIsolated", "swift_task_reportUnexpectedExecutor", "_checkExpectedExecutor", "assumeIsolated",
    "dispatch_assert_queue",
  ]
}

extension CrashFacts {
  /// How many of the innermost frames may belong to the runtime that stopped the program.
  private static let reach = 8

  /// Whether the program was stopped, rather than that it did something impossible.
  var isStop: Bool {
    record.signal == SIGABRT && !isSentByOther
      || (record.signal == SIGILL || record.signal == SIGTRAP) && !isSent
  }

  /// Whether one of the innermost functions has a name with one of these in it; none of the program's own stands below.
  func isStopped(in names: [String]) -> Bool {
    for frame in frames.prefix(Self.reach) {
      if names.contains(where: frame.mangled.contains) { return true }
      if frame.isOwn { return false }
    }
    return false
  }
}

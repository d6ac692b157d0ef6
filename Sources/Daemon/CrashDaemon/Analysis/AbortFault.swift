import CrashRing
import Glibc

/// The fault by which `abort()` ends a process that SIGABRT did not end.
///
/// In the first process of a pid namespace, the kernel drops a signal that the process sends to itself if the signal has
/// the default action. `abort()` then executes an instruction that faults, which ends the process. The ring has two
/// records of such a crash, and the first one describes it.
extension RingContents {
  /// The contents without these faults.
  ///
  /// The record of SIGABRT becomes the crash that the process did not survive.
  var withoutAbortFaults: RingContents {
    var contents = self
    for fault in records {
      guard let abort = records.last(where: { fault.isFault(after: $0) }) else { continue }
      contents.records.removeAll { $0.slot == fault.slot && $0.sequence == fault.sequence }
      contents.survived = min(contents.survived, abort.sequence)
    }
    return contents
  }
}

extension CrashRecord {
  /// The number of frames by which the stack of SIGABRT may be deeper: the functions that `abort()` calls to send it.
  private static let senderDepth = 6
  /// The number of callers that are compared.
  private static let callerCount = 8

  /// Whether the function that sent SIGABRT also caused this fault, in the same call.
  fileprivate func isFault(after abort: CrashRecord) -> Bool {
    guard code > 0, abort.signal == SIGABRT, abort.tid == tid, abort.sequence < sequence,
      CrashFacts.senderCodes.contains(abort.code)
    else { return false }
    let callers = frames.dropFirst().prefix(Self.callerCount).map(\.pc)
    guard !callers.isEmpty else { return false }
    return (2...Self.senderDepth).contains { abort.frames.dropFirst($0).prefix(callers.count).map(\.pc) == callers }
  }
}

import CrashRing
import Glibc

/// The fault that `abort()` causes on purpose if SIGABRT did not end the process.
///
/// In the first process of a pid namespace, the kernel drops a signal that the process sends to itself if the signal
/// has the default action. `abort()` then executes an instruction that faults, which ends the process. The process
/// writes two records of such a crash, and only the first record describes the cause.
extension RingContents {
  /// The ring contents without the records of the faults that `abort()` causes.
  ///
  /// Without these records, the record of SIGABRT counts as the crash that ended the process.
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
  /// The maximum number of frames of `abort()` and of the functions that it calls to send the signal.
  ///
  /// These functions are the innermost frames in the record of SIGABRT.
  private static let senderDepth = 6
  /// The number of callers of `abort()` that are compared between the two records.
  private static let callerCount = 8

  /// Whether the call of `abort()` that sent SIGABRT also caused this fault.
  fileprivate func isFault(after abort: CrashRecord) -> Bool {
    guard code > 0, abort.signal == SIGABRT, abort.tid == tid, abort.sequence < sequence,
      CrashFacts.senderCodes.contains(abort.code)
    else { return false }
    let callers = frames.dropFirst().prefix(Self.callerCount).map(\.pc)
    guard !callers.isEmpty else { return false }
    return (2...Self.senderDepth).contains { abort.frames.dropFirst($0).prefix(callers.count).map(\.pc) == callers }
  }
}

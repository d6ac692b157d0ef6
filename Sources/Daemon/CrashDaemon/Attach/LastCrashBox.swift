import CShimRing
import CrashProtocol
import CrashReport
import Synchronization

/// A notice of the last crash of a program, for its next process.
struct LastCrashNotice: Sendable, Equatable {
  private static let sentenceLimitBytes = Int(CS_CONTROL_NAME_LIMIT_BYTES)

  /// Zero and empty: there is none.
  var time_ns: UInt64 = 0
  var id = ""
  var sentence = ""

  /// Nil: there is none.
  init(_ report: ReportSummary?) {
    guard let report, let time_ns = Timestamp.nanoseconds(rfc3339: report.time), time_ns > 0, !report.id.isEmpty,
      report.id.utf8.count <= Int(CS_CONTROL_ID_LIMIT_BYTES)
    else { return }
    (self.time_ns, id) = (time_ns, CleanText.line(report.id))
    // The process refuses control characters, and a text that is too long.
    sentence = Self.cut(CleanText.line(report.sentence))
  }

  /// The message, in a process's terms.
  var message: ControlPlan.Message {
    let fields = cs_control_last_crash(
      time_ns: time_ns, id_bytes: UInt32(id.utf8.count), sentence_bytes: UInt32(sentence.utf8.count))
    // The bytes of a C structure without padding.
    let head = unsafe withUnsafeBytes(of: fields) { unsafe Array($0) }
    return ("", .CS_CONTROL_LAST_CRASH, head + Array(id.utf8) + Array(sentence.utf8))
  }

  /// As many whole characters as fit.
  private static func cut(_ text: String) -> String {
    if text.utf8.count <= sentenceLimitBytes { return text }
    let mark = "…"
    var kept = ""
    var bytes = mark.utf8.count
    for character in text {
      bytes += character.utf8.count
      if bytes > sentenceLimitBytes { break }
      kept.append(character)
    }
    return kept + mark
  }
}

/// The notices on their way from the pipeline, which asks the store, to the attach thread, which sends them.
final class LastCrashBox: Sendable {
  private struct State {
    var notices: [UInt64: LastCrashNotice] = [:]
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Sets the callback that runs when there is a notice, on any thread.
  func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  /// For the process of the connection with this number.
  func put(_ notice: LastCrashNotice, for number: UInt64) {
    let wake = state.withLock { state in
      state.notices[number] = notice
      return state.wake
    }
    wake?()
  }

  /// All that have come since the last call.
  func take() -> [UInt64: LastCrashNotice] {
    state.withLock { state in
      defer { state.notices = [:] }
      return state.notices
    }
  }
}

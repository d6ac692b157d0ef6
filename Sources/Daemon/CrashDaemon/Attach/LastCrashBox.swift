import CShimRing
import CrashProtocol
import CrashReport
import Synchronization

/// A notice of the last crash of a program, for its next process.
struct LastCrashNotice: Sendable, Equatable {
  private static let sentenceLimitBytes = Int(CS_CONTROL_NAME_LIMIT_BYTES)

  /// The time, the id and the sentence of the report.
  ///
  /// They are zero and empty if there was no crash.
  var time_ns: UInt64 = 0
  var id = ""
  var sentence = ""

  /// Makes the notice from a report.
  ///
  /// With nil, the program has no earlier crash and the notice is empty.
  init(_ report: ReportSummary?) {
    guard let report, let time_ns = Timestamp.nanoseconds(rfc3339: report.time), time_ns > 0, !report.id.isEmpty,
      report.id.utf8.count <= Int(CS_CONTROL_ID_LIMIT_BYTES)
    else { return }
    (self.time_ns, id) = (time_ns, CleanText.line(report.id))
    // Clean and cut the sentence, because the process refuses control characters and longer texts.
    sentence = Self.cut(CleanText.line(report.sentence))
  }

  /// The control message to the process.
  var message: ControlPlan.Message {
    let fields = cs_control_last_crash(
      time_ns: time_ns, id_bytes: UInt32(id.utf8.count), sentence_bytes: UInt32(sentence.utf8.count))
    // The bytes of a C structure without padding are all initialized.
    let head = unsafe withUnsafeBytes(of: fields) { unsafe Array($0) }
    return ("", .CS_CONTROL_LAST_CRASH, head + Array(id.utf8) + Array(sentence.utf8))
  }

  /// The longest prefix of whole characters that fits, with an ellipsis.
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

/// Passes notices from the pipeline, which reads them from the store, to the attach thread, which sends them.
final class LastCrashBox: Sendable {
  private struct State {
    var notices: [UInt64: LastCrashNotice] = [:]
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Sets the callback that runs, on any thread, when a notice was added.
  func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  /// Adds a notice for the process of the connection with this number.
  func put(_ notice: LastCrashNotice, for number: UInt64) {
    let wake = state.withLock { state in
      state.notices[number] = notice
      return state.wake
    }
    wake?()
  }

  /// Removes and returns the notices that were added since the last call.
  func take() -> [UInt64: LastCrashNotice] {
    state.withLock { state in
      defer { state.notices = [:] }
      return state.notices
    }
  }
}

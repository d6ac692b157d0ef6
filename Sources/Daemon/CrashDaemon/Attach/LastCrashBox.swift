import CShimRing
import CrashProtocol
import CrashReport
import Synchronization

/// The message about the last crash of a program, which crashd sends to the program's next process.
struct LastCrashNotice: Sendable, Equatable {
  private static let sentenceLimitBytes = Int(CS_CONTROL_NAME_LIMIT_BYTES)

  /// The time, the ID and the sentence of the crash report; zero and empty if the program has not crashed before.
  var time_ns: UInt64 = 0
  var id = ""
  var sentence = ""

  /// Makes the notice from the program's last crash report.
  ///
  /// If the report is nil, the program has not crashed before, and the notice is empty.
  init(_ report: ReportSummary?) {
    guard let report, let time_ns = Timestamp.nanoseconds(rfc3339: report.time), time_ns > 0, !report.id.isEmpty,
      report.id.utf8.count <= Int(CS_CONTROL_ID_LIMIT_BYTES)
    else { return }
    (self.time_ns, id) = (time_ns, CleanText.line(report.id))
    // Sanitize and shorten the sentence, because the process rejects control characters, and texts that are longer than
    // the limit.
    sentence = Self.cut(CleanText.line(report.sentence))
  }

  /// The control message that carries the notice to the process.
  var message: ControlPlan.Message {
    let fields = cs_control_last_crash(
      time_ns: time_ns, id_bytes: UInt32(id.utf8.count), sentence_bytes: UInt32(sentence.utf8.count))
    // The C structure has no padding, so all its bytes are initialized.
    let head = unsafe withUnsafeBytes(of: fields) { unsafe Array($0) }
    return ("", .CS_CONTROL_LAST_CRASH, head + Array(id.utf8) + Array(sentence.utf8))
  }

  /// Returns the longest prefix within the limit that ends at a character's end, with an ellipsis.
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

/// Passes messages about the last crashes of programs from the pipeline to the attach thread.
///
/// The pipeline reads the crash reports from the store, and the attach thread sends the messages to processes.
final class LastCrashBox: Sendable {
  private struct State {
    var notices: [UInt64: LastCrashNotice] = [:]
    var wake: (@Sendable () -> Void)?
  }

  private let state = Mutex(State())

  /// Sets the callback that runs on any thread after a notice was added.
  func onChange(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

  /// Adds a notice for the process whose connection has the given number.
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

public import CrashReport

/// What a list shows of a report.
public struct ReportSummary: Sendable, Equatable {
  /// Its newest event.
  public var cursor: StoreCursor
  /// Its id.
  public var id: String
  /// When it happened.
  public var time: String
  /// The process.
  public var pid: Int
  /// The user.
  public var uid: Int
  /// The process's name.
  public var name: String
  /// The executable's path.
  public var executable: String
  /// The systemd unit.
  public var unit: String?
  /// Such as `SIGILL`.
  public var signal: String
  /// The runtime's error message.
  public var reason: String
  /// The diagnosis in one sentence.
  public var sentence: String
  /// The first own function of the first crashed thread.
  public var function: String
  /// Where it is.
  public var file: String?
  /// Where it is.
  public var line: Int?
  /// The group's key.
  public var groupKey: String
  /// The group's title.
  public var groupTitle: String
  /// Whether it is not stored yet, as its symbols are being read.
  public var isPreliminary = false
}

/// A report and its newest event.
public struct StoredReport: Sendable, Equatable {
  /// Its newest event.
  public var cursor: StoreCursor
  /// The report.
  public var report: CrashReport
}

/// What a write did.
public enum StoreChange: Sendable, Equatable {
  /// A report with this id is new.
  case inserted(StoreCursor)
  /// The report replaced an earlier one with its id.
  case updated(StoreCursor)
  /// The same report was there already; no event.
  case unchanged
}

extension CrashReport {
  /// The frame that names the crash in a list: the first own one of the first crashed thread, else the first that
  /// has a name.
  var namingFrame: Frame? {
    guard let frames = threads.first?.frames else { return nil }
    return frames.first { $0.isOwn && !$0.function.isEmpty } ?? frames.first { !$0.function.isEmpty }
  }
}

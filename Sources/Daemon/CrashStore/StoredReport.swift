package import CrashProtocol
public import CrashReport

/// A report, as JSON, and its newest event.
public struct StoredReport: Sendable, Equatable {
  /// Its newest event.
  public var cursor: StoreCursor
  /// The report's.
  public var id: String
  /// When it crashed.
  public var time: String
  /// The report, in the form of the crashd that stored it.
  package var json: JSONFragment

  /// The report.
  /// - Throws: `StoreError.unreadable`.
  public var report: CrashReport {
    get throws(StoreError) {
      // A key may be there twice, and its first value another one.
      guard let report = try? json.report(), report.id == id else { throw .unreadable(id: id) }
      return report
    }
  }
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

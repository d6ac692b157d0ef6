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

  init(_ row: EventRow, epoch: StoreEpoch) throws(StoreError) {
    guard let json = JSONFragment(row.json, id: row.id) else { throw .unreadable(id: row.id) }
    (cursor, id, time) = (StoreCursor(epoch: epoch, sequence: row.seq), row.id, row.time)
    self.json = json
  }

  /// A report that is not stored yet.
  init(unstored report: CrashReport, epoch: StoreEpoch) throws {
    (cursor, id, time) = (.unstored(report, in: epoch), report.id, report.time)
    json = try JSONFragment(report)
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

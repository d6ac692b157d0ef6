package import CrashProtocol
public import CrashReport

/// A stored report as JSON, with the cursor of its latest event.
public struct StoredReport: Sendable, Equatable {
  /// The cursor of the report's latest event.
  public var cursor: StoreCursor
  /// The ID of the report.
  public var id: String
  /// The time of the crash.
  public var time: String
  /// The report as JSON, in the format that was used by the version of crashd that stored it.
  package var json: JSONFragment

  /// The decoded report.
  /// - Throws: `StoreError.unreadable`.
  public var report: CrashReport {
    get throws(StoreError) {
      // The ID in the JSON must equal `id`, because damaged JSON can contain a key twice with different values.
      guard let report = try? json.report(), report.id == id else { throw .unreadable(id: id) }
      return report
    }
  }

  init(_ row: EventRow, epoch: StoreEpoch) throws(StoreError) {
    guard let json = JSONFragment(row.json, id: row.id) else { throw .unreadable(id: row.id) }
    (cursor, id, time) = (StoreCursor(epoch: epoch, sequence: row.seq), row.id, row.time)
    self.json = json
  }

  /// Creates a `StoredReport` for a report that is not stored yet.
  init(unstored report: CrashReport, epoch: StoreEpoch) throws {
    (cursor, id, time) = (.unstored(report, in: epoch), report.id, report.time)
    json = try JSONFragment(report)
  }
}

/// The effect of storing a report.
public enum StoreChange: Sendable, Equatable {
  /// The store did not have the report, and inserted it.
  case inserted(StoreCursor)
  /// The report replaced an earlier report with the same id.
  case updated(StoreCursor)
  /// The store already had the same report, so it created no event.
  case unchanged
}

import CrashProtocol
public import CrashReport
import GRDB

extension ReportStore {
  /// Rewrites a stored report without creating an event.
  ///
  /// This method is meant for changes that subscribers need not receive. Precondition: the fields that lists and
  /// filters use have not changed.
  /// - Parameters:
  ///   - report: The changed report.
  ///   - expected: The cursor that the stored report must have; otherwise nothing is written.
  /// - Returns: Whether the report was written.
  /// - Throws: `StoreError.unavailable`.
  public func amend(_ report: CrashReport, at expected: StoreCursor) throws(StoreError) -> Bool {
    return try Self.translating(path) {
      let json = try JSONFragment(report).bytes
      return try write { database in
        let bytes = try Int.fetchOne(
          database, sql: "SELECT length(json) FROM reports WHERE id = ? AND seq = ?",
          arguments: [report.id, expected.sequence])
        guard let bytes else { return false }
        try database.execute(sql: "UPDATE reports SET json = ? WHERE id = ?", arguments: [json, report.id])
        // Also update the stored total size of the owner's reports, which must equal the sum over the rows in
        // `group_reports`.
        let growth = json.count - bytes
        try database.execute(
          sql: "UPDATE group_reports SET bytes = bytes + ? WHERE id = ? AND bytes > 0", arguments: [growth, report.id])
        try database.execute(
          sql: "UPDATE user_shares SET bytes = bytes + ? WHERE uid = (SELECT uid FROM reports WHERE id = ?)",
          arguments: [growth, report.id])
        return true
      }
    }
  }
}

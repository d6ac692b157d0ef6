public import CrashReport
import FoundationEssentials
import GRDB

extension ReportStore {
  /// Writes a stored report anew without an event: for what tells nobody anything new, such as that a check has agreed.
  ///
  /// Nothing that a list shows or a filter asks for may differ.
  /// - Parameters:
  ///   - report: The report.
  ///   - expected: Its event: when it has another one meanwhile, nothing is written.
  /// - Returns: Whether it was written.
  /// - Throws: `StoreError.unavailable`.
  public func amend(_ report: CrashReport, at expected: StoreCursor) throws(StoreError) -> Bool {
    let pool = try pool
    return try Self.translating(path) {
      let json = try JSONEncoder().encode(report)
      return try pool.write { database in
        try database.execute(
          sql: "UPDATE reports SET json = ? WHERE id = ? AND seq = ?",
          arguments: [json, report.id, expected.sequence])
        return database.changesCount == 1
      }
    }
  }
}

// Stores the request fields of the thread that crashed first, for filters and lists.
import GRDB

extension StoreSchema {
  static func registerRequests(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v16") { database in try database.execute(sql: reportRequests) }
  }

  /// Creates the table of the request fields, with the columns of `report_tags`.
  ///
  /// A separate table ensures that a tag never matches a filter of requests, because the program chooses the keys of
  /// its tags.
  private static let reportRequests = """
    -- key is 'route' or 'traceID'.
    CREATE TABLE report_requests (
      seq INTEGER NOT NULL REFERENCES reports (seq) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
      key TEXT NOT NULL,
      value TEXT NOT NULL,
      uid INTEGER NOT NULL,
      PRIMARY KEY (seq, key)
    ) WITHOUT ROWID;
    CREATE INDEX report_requests_value ON report_requests (key, value, seq);
    CREATE INDEX report_requests_owner ON report_requests (uid, key, value, seq);
    """
}

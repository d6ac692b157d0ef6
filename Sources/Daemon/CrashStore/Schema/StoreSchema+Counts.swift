// Creates the tables for the counts of events by program. The counts increase as long as the database exists.
import GRDB

extension StoreSchema {
  static func registerCounts(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v15") { database in try database.execute(sql: eventCounts) }
  }

  /// Creates the table of the counts.
  ///
  /// Reports that were stored before the migration `v15` are not counted.
  ///
  /// The causes of these earlier crashes are only in the JSON of the reports. Reading the JSON of all reports would
  /// delay the start of crashd.
  private static let eventCounts = """
    -- event is 'crash' (kind and detail are signal and cause) or 'incident' (kind and detail are source and kind).
    CREATE TABLE event_counts (
      event TEXT NOT NULL,
      uid INTEGER NOT NULL,
      program TEXT NOT NULL,
      unit TEXT NOT NULL,
      kind TEXT NOT NULL,
      detail TEXT NOT NULL,
      count INTEGER NOT NULL,
      last TEXT NOT NULL,
      PRIMARY KEY (event, uid, program, unit, kind, detail)
    ) WITHOUT ROWID;
    """
}

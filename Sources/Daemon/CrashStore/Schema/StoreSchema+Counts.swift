// Counts of events by program, which grow as long as crashd's database lives.
import GRDB

extension StoreSchema {
  static func registerCounts(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v15") { database in try database.execute(sql: eventCounts) }
  }

  /// Reports of before are not counted: their causes are in their JSON alone, and to read all of it would delay the start.
  private static let eventCounts = """
    -- event: 'crash', with signal and cause as kind and detail; 'incident', with source and kind.
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

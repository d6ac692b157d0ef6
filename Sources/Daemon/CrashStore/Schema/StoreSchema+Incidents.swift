// Numbers of incidents that never come again, and those of the evicted ones.
import GRDB

extension StoreSchema {
  static func registerIncidentNumbers(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v13") { database in try database.execute(sql: incidentNumbers) }
  }

  /// The rows keep their numbers, so cursors stay good.
  ///
  /// The migrator checks foreign keys when a migration has ended, not during it: `use_after_frees` keeps its rows.
  private static let incidentNumbers = """
    -- seq: the order in which crashd has stored incidents; one that is counted on gets a new one.
    CREATE TABLE numbered_incidents (
      seq INTEGER PRIMARY KEY AUTOINCREMENT,
      id TEXT NOT NULL,
      uid INTEGER NOT NULL,
      name TEXT NOT NULL,
      subject TEXT NOT NULL,
      source TEXT NOT NULL,
      last TEXT NOT NULL,
      json BLOB NOT NULL,
      UNIQUE (id, uid)
    );
    INSERT INTO numbered_incidents (seq, id, uid, name, subject, source, last, json)
      SELECT rowid, id, uid, name, subject, source, last, json FROM incidents ORDER BY rowid;
    DROP TABLE incidents;
    ALTER TABLE numbered_incidents RENAME TO incidents;
    CREATE INDEX incidents_last ON incidents (last);
    CREATE INDEX incidents_uid ON incidents (uid);

    -- Incidents that were evicted, and have not come again.
    CREATE TABLE evicted_incidents (
      uid INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      PRIMARY KEY (uid, seq)
    ) WITHOUT ROWID;
    CREATE INDEX evicted_incidents_id ON evicted_incidents (id, uid);
    -- REPLACE deletes without this trigger: SQLite fires it then only with recursive_triggers, which is off.
    CREATE TRIGGER incidents_evict AFTER DELETE ON incidents BEGIN
      INSERT OR REPLACE INTO evicted_incidents (uid, seq, id) VALUES (old.uid, old.seq, old.id);
    END;
    CREATE TRIGGER incidents_add AFTER INSERT ON incidents BEGIN
      DELETE FROM evicted_incidents WHERE id = new.id AND uid = new.uid;
    END;
    """
}

// Creates the tables for the numbers of incidents. A number is never assigned again, and the numbers of evicted
// incidents are recorded.
import GRDB

extension StoreSchema {
  static func registerIncidentNumbers(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v13") { database in try database.execute(sql: incidentNumbers) }
  }

  /// Gives the table `incidents` a column for the numbers.
  ///
  /// Existing rows keep their row numbers, so that cursors stay valid.
  ///
  /// The migration deletes the old table. The rows of `use_after_frees`, which refer to it, are not deleted with it,
  /// because the migrator checks foreign keys only after the migration.
  private static let incidentNumbers = """
    -- seq is the order in which crashd stored incidents. If the count of an incident grows, it gets a new number.
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

    -- Incidents that were evicted and not stored again.
    CREATE TABLE evicted_incidents (
      uid INTEGER NOT NULL,
      seq INTEGER NOT NULL,
      id TEXT NOT NULL,
      PRIMARY KEY (uid, seq)
    ) WITHOUT ROWID;
    CREATE INDEX evicted_incidents_id ON evicted_incidents (id, uid);
    -- REPLACE does not fire this trigger, because SQLite requires recursive_triggers for that, which is off.
    CREATE TRIGGER incidents_evict AFTER DELETE ON incidents BEGIN
      INSERT OR REPLACE INTO evicted_incidents (uid, seq, id) VALUES (old.uid, old.seq, old.id);
    END;
    CREATE TRIGGER incidents_add AFTER INSERT ON incidents BEGIN
      DELETE FROM evicted_incidents WHERE id = new.id AND uid = new.uid;
    END;
    """
}

// Creates the tables of the database, and migrates databases of older versions of crashd.
import GRDB

enum StoreSchema {
  /// The bytes "CSHD", which mark the file as a database of crashd (`PRAGMA application_id`).
  static let applicationID: Int32 = 0x4353_4844

  /// The name of the last migration.
  static let version = "v17"

  static var migrator: DatabaseMigrator {
    var migrator = DatabaseMigrator()
    migrator.registerMigration("v1") { database in
      try database.execute(
        sql: """
          CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;

          -- seq is the event number. An updated report gets a new number, so that readers receive it again.
          CREATE TABLE reports (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            id TEXT NOT NULL UNIQUE,
            time TEXT NOT NULL,
            pid INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            name TEXT NOT NULL,
            executable TEXT NOT NULL,
            unit TEXT,
            signal TEXT NOT NULL,
            reason TEXT NOT NULL,
            sentence TEXT NOT NULL,
            function TEXT NOT NULL,
            file TEXT,
            line INTEGER,
            group_key TEXT NOT NULL,
            group_title TEXT NOT NULL,
            json BLOB NOT NULL
          );
          CREATE INDEX reports_uid ON reports (uid, seq);
          CREATE INDEX reports_pid ON reports (pid, seq);
          CREATE INDEX reports_group ON reports (group_key, seq);

          -- The raw record that the process wrote, which is sufficient for another analysis.
          CREATE TABLE raw_records (
            id TEXT PRIMARY KEY REFERENCES reports (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            bytes BLOB NOT NULL
          ) WITHOUT ROWID;
          """)
      try database.execute(
        sql: "INSERT INTO meta (key, value) VALUES ('epoch', ?)", arguments: [StoreEpoch.randomID()])
    }
    migrator.registerMigration("v2") { database in
      // This index is used for finding the report of the latest crash, which is not always the report that was stored
      // last.
      try database.execute(sql: "CREATE INDEX reports_time ON reports (time, seq)")
    }
    migrator.registerMigration("v3") { database in
      // These tables store groups: the builds whose crashes they contain, and the states that operators have set.
      try database.execute(
        sql: """
          -- The columns that lists of groups need. In the table reports, SQLite would have to skip the JSON of each report.
          -- The builds of older reports stay unknown, because reading all of these reports would delay the start.
          CREATE TABLE group_reports (
            group_key TEXT NOT NULL,
            uid INTEGER NOT NULL,
            time TEXT NOT NULL,
            id TEXT NOT NULL REFERENCES reports (id) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            build TEXT NOT NULL,
            name TEXT NOT NULL,
            executable TEXT NOT NULL,
            title TEXT NOT NULL,
            PRIMARY KEY (group_key, uid, time, id)
          ) WITHOUT ROWID;
          CREATE INDEX group_reports_id ON group_reports (id);
          CREATE INDEX group_reports_executable ON group_reports (executable, uid, build, time);
          INSERT INTO group_reports (group_key, uid, time, id, build, name, executable, title)
            SELECT group_key, uid, time, id, '', name, executable, group_title FROM reports;

          -- uid is the user whose reports have the state.
          CREATE TABLE group_states (
            group_key TEXT NOT NULL,
            uid INTEGER NOT NULL,
            resolved_time TEXT NOT NULL,
            PRIMARY KEY (group_key, uid)
          ) WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("v4") { database in
      // The column `acked` is the number of the last event that the subscriber has acknowledged.
      try database.execute(
        sql: """
          CREATE TABLE subscribers (
            name TEXT NOT NULL,
            uid INTEGER NOT NULL,
            acked INTEGER NOT NULL,
            time TEXT NOT NULL,
            PRIMARY KEY (name, uid)
          ) WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("v5") { database in
      // This table stores non-fatal incidents.
      try database.execute(
        sql: """
          CREATE TABLE incidents (
            id TEXT NOT NULL,
            uid INTEGER NOT NULL,
            name TEXT NOT NULL,
            subject TEXT NOT NULL,
            source TEXT NOT NULL,
            last TEXT NOT NULL,
            json BLOB NOT NULL,
            PRIMARY KEY (id, uid)
          );
          CREATE INDEX incidents_last ON incidents (last);
          """)
    }
    migrator.registerMigration("v6") { database in
      // These tables store which classes are protected against use-after-free, and the decisions about the protection.
      // A service is one program of one user.
      try database.execute(
        sql: """
          CREATE TABLE dangling_services (
            uid INTEGER NOT NULL,
            program TEXT NOT NULL,
            policy BLOB NOT NULL,
            classes BLOB NOT NULL,
            PRIMARY KEY (uid, program)
          ) WITHOUT ROWID;

          CREATE TABLE dangling_events (
            seq INTEGER PRIMARY KEY AUTOINCREMENT,
            uid INTEGER NOT NULL,
            program TEXT NOT NULL,
            time TEXT NOT NULL,
            json BLOB NOT NULL
          );
          CREATE INDEX dangling_events_uid ON dangling_events (uid, seq);
          """)
    }
    migrator.registerMigration("v7") { database in
      // This table records removed reports, so that groups still count them and subscribers receive the number of
      // events that they missed.
      try database.execute(
        sql: """
          -- Reports that retention removed, counted by the hour of the crash.
          CREATE TABLE group_past (
            group_key TEXT NOT NULL,
            uid INTEGER NOT NULL,
            hour TEXT NOT NULL,
            build TEXT NOT NULL,
            name TEXT NOT NULL,
            executable TEXT NOT NULL,
            title TEXT NOT NULL,
            count INTEGER NOT NULL,
            first TEXT NOT NULL,
            last TEXT NOT NULL,
            PRIMARY KEY (group_key, uid, hour, build, name, executable)
          ) WITHOUT ROWID;
          CREATE INDEX group_past_last ON group_past (last);
          CREATE INDEX group_past_executable ON group_past (executable, uid, build, first);

          -- Removed events and the ids of their reports, which must not be stored again.
          CREATE TABLE removed (
            seq INTEGER PRIMARY KEY,
            id TEXT NOT NULL,
            uid INTEGER NOT NULL
          ) WITHOUT ROWID;
          CREATE INDEX removed_id ON removed (id, uid);
          -- The number of the oldest removed events, for each block of event numbers.
          CREATE TABLE removed_tallies (
            block INTEGER NOT NULL,
            uid INTEGER NOT NULL,
            count INTEGER NOT NULL,
            PRIMARY KEY (block, uid)
          ) WITHOUT ROWID;
          """)
    }
    migrator.registerMigration("v8") { database in
      // This index is used for lists of reports. The index contains all columns that a filter can use, but not the JSON
      // of the reports. Therefore, for any filter, SQLite can find a page and count the remaining reports in this index
      // alone.
      try database.execute(
        sql: """
          CREATE INDEX reports_list ON reports (seq, time, pid, uid, name, executable, unit, signal, group_key)
          """)
    }
    registerSums(&migrator)
    migrator.registerMigration("v12") { database in
      // This table contains the fields that are needed for groups of use-after-free incidents, without the JSON of the
      // incidents. The table has no index, because a list of groups reads all rows. The number of rows is limited,
      // because the number of incidents is limited.
      try database.execute(
        sql: """
          CREATE TABLE use_after_frees (
            id TEXT NOT NULL,
            uid INTEGER NOT NULL,
            program TEXT NOT NULL,
            subject TEXT NOT NULL,
            kind TEXT NOT NULL,
            method TEXT NOT NULL,
            place TEXT NOT NULL,
            line TEXT NOT NULL,
            process TEXT NOT NULL,
            build TEXT NOT NULL,
            mode TEXT NOT NULL,
            confidence TEXT NOT NULL,
            release TEXT,
            first TEXT NOT NULL,
            last TEXT NOT NULL,
            count INTEGER NOT NULL,
            age_ns INTEGER,
            PRIMARY KEY (id, uid),
            FOREIGN KEY (id, uid) REFERENCES incidents (id, uid) ON DELETE CASCADE
          ) WITHOUT ROWID;
          """)
      try UseAfterFree.fill(in: database)
    }
    registerIncidentNumbers(&migrator)
    migrator.registerMigration("v14") { database in
      // This table contains the tags of reports, for lists and filters. The tags of older reports are not added to the
      // table, because reading all these reports would delay the start of crashd.
      try database.execute(
        sql: """
          -- All annotations of a report, including release, environment and user.
          CREATE TABLE report_tags (
            seq INTEGER NOT NULL REFERENCES reports (seq) ON DELETE CASCADE DEFERRABLE INITIALLY DEFERRED,
            key TEXT NOT NULL,
            value TEXT NOT NULL,
            uid INTEGER NOT NULL,
            PRIMARY KEY (seq, key)
          ) WITHOUT ROWID;
          -- Both indexes end with the event number. A page of reports with a tag is a range, for root and any owner.
          CREATE INDEX report_tags_value ON report_tags (key, value, seq);
          CREATE INDEX report_tags_owner ON report_tags (uid, key, value, seq);
          -- The number of the report's event, which leads to its tags. It is null for older reports.
          ALTER TABLE group_reports ADD COLUMN seq INTEGER;
          """)
    }
    registerCounts(&migrator)
    registerRequests(&migrator)
    registerHealth(&migrator)
    return migrator
  }
}

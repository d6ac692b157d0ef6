// Creates the tables of sums, and the SQLite triggers that update them. With triggers, the sums are correct after any
// statement that changes a row.
import GRDB

extension StoreSchema {
  static func registerSums(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v9") { database in try database.execute(sql: bytesByUser) }
    migrator.registerMigration("v10") { database in try database.execute(sql: groupSums) }
    migrator.registerMigration("v11") { database in
      // This index is used for counting the incidents of each user, and for finding the oldest ones: the row numbers
      // give the order in which crashd stored the incidents.
      try database.execute(sql: "CREATE INDEX incidents_uid ON incidents (uid)")
    }
  }

  /// Creates the sums of the bytes that the reports of each user take.
  ///
  /// To get the length of a value, SQLite reads only the header of the row, and not the value itself.
  private static let bytesByUser = """
    -- bytes is the size of the report and its raw record. A report in several groups has this size in only one row, else 0.
    ALTER TABLE group_reports ADD COLUMN bytes INTEGER NOT NULL DEFAULT 0;
    UPDATE group_reports SET bytes = ifnull((SELECT length(json) FROM reports WHERE reports.id = group_reports.id), 0)
      + ifnull((SELECT length(bytes) FROM raw_records WHERE raw_records.id = group_reports.id), 0);
    CREATE INDEX group_reports_others ON group_reports (group_key) WHERE bytes = 0;

    CREATE TABLE user_shares (
      uid INTEGER NOT NULL PRIMARY KEY,
      bytes INTEGER NOT NULL,
      reports INTEGER NOT NULL
    ) WITHOUT ROWID;
    INSERT INTO user_shares (uid, bytes, reports)
      SELECT uid, sum(bytes), sum(bytes > 0) FROM group_reports GROUP BY uid;
    CREATE TRIGGER user_shares_add AFTER INSERT ON group_reports WHEN new.bytes > 0 BEGIN
      INSERT INTO user_shares (uid, bytes, reports) VALUES (new.uid, new.bytes, 1)
        ON CONFLICT DO UPDATE SET bytes = bytes + excluded.bytes, reports = reports + 1;
    END;
    CREATE TRIGGER user_shares_subtract AFTER DELETE ON group_reports WHEN old.bytes > 0 BEGIN
      UPDATE user_shares SET bytes = bytes - old.bytes, reports = reports - 1 WHERE uid = old.uid;
      DELETE FROM user_shares WHERE uid = old.uid AND reports <= 0;
    END;
    """

  /// Creates the sums that a list of groups without a filter needs.
  ///
  /// The sums are stored, because counting would have to read every row.
  private static let groupSums = """
    CREATE TABLE group_totals (
      group_key TEXT NOT NULL,
      uid INTEGER NOT NULL,
      count INTEGER NOT NULL,
      last TEXT NOT NULL,
      PRIMARY KEY (group_key, uid)
    ) WITHOUT ROWID;
    CREATE INDEX group_totals_last ON group_totals (last, group_key, uid);
    CREATE INDEX group_totals_uid ON group_totals (uid, last, group_key);
    CREATE TABLE group_parts (
      group_key TEXT NOT NULL,
      uid INTEGER NOT NULL,
      build TEXT NOT NULL,
      name TEXT NOT NULL,
      count INTEGER NOT NULL,
      PRIMARY KEY (group_key, uid, build, name)
    ) WITHOUT ROWID;

    CREATE TRIGGER group_reports_add AFTER INSERT ON group_reports BEGIN
      \(add("1", "new.time"))
    END;
    CREATE TRIGGER group_reports_subtract AFTER DELETE ON group_reports BEGIN
      \(subtract("1", "old.time"))
    END;
    CREATE TRIGGER group_past_add AFTER INSERT ON group_past BEGIN
      \(add("new.count", "new.last"))
    END;
    CREATE TRIGGER group_past_subtract AFTER DELETE ON group_past BEGIN
      \(subtract("old.count", "old.last"))
    END;
    CREATE TRIGGER group_past_change AFTER UPDATE OF count, last ON group_past BEGIN
      \(add("new.count - old.count", "new.last"))
    END;

    INSERT INTO group_totals (group_key, uid, count, last)
      SELECT group_key, uid, sum(count), max(last) FROM (
        SELECT group_key, uid, count(*) AS count, max(time) AS last FROM group_reports GROUP BY group_key, uid
        UNION ALL
        SELECT group_key, uid, sum(count), max(last) FROM group_past GROUP BY group_key, uid)
      GROUP BY group_key, uid;
    INSERT INTO group_parts (group_key, uid, build, name, count)
      SELECT group_key, uid, build, name, sum(count) FROM (
        SELECT group_key, uid, build, name, count(*) AS count FROM group_reports GROUP BY group_key, uid, build, name
        UNION ALL
        SELECT group_key, uid, build, name, sum(count) FROM group_past GROUP BY group_key, uid, build, name)
      GROUP BY group_key, uid, build, name;
    """

  private static func add(_ count: String, _ last: String) -> String {
    """
    INSERT INTO group_totals (group_key, uid, count, last) VALUES (new.group_key, new.uid, \(count), \(last))
        ON CONFLICT DO UPDATE SET count = count + excluded.count, last = max(last, excluded.last);
      INSERT INTO group_parts (group_key, uid, build, name, count)
        VALUES (new.group_key, new.uid, new.build, new.name, \(count))
        ON CONFLICT DO UPDATE SET count = count + excluded.count;
    """
  }

  /// Returns the SQL that subtracts a deleted row from the sums.
  ///
  /// If the deleted row was the latest, the SQL finds the latest remaining row, which is at the end of the index of
  /// each table.
  private static func subtract(_ count: String, _ last: String) -> String {
    let isGroup = "group_key = old.group_key AND uid = old.uid"
    return """
      UPDATE group_totals SET count = count - \(count), last = CASE WHEN \(last) < last THEN last ELSE max(
          ifnull((SELECT max(time) FROM group_reports WHERE \(isGroup)), ''),
          ifnull((SELECT max(last) FROM group_past WHERE \(isGroup)
            AND hour = (SELECT max(hour) FROM group_past WHERE \(isGroup))), '')) END
          WHERE \(isGroup);
        DELETE FROM group_totals WHERE \(isGroup) AND count <= 0;
        UPDATE group_parts SET count = count - \(count) WHERE \(isGroup) AND build = old.build AND name = old.name;
        DELETE FROM group_parts WHERE \(isGroup) AND build = old.build AND name = old.name AND count <= 0;
      """
  }
}

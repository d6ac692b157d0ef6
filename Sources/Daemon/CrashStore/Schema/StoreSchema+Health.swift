// Creates the tables of release health: the running time, requests and crashes of each build, by hour.
import GRDB

extension StoreSchema {
  static func registerHealth(_ migrator: inout DatabaseMigrator) {
    migrator.registerMigration("v17") { database in try database.execute(sql: health) }
  }

  private static let health = """
    -- The counts of a build since its first process attached. The counts never decrease.
    CREATE TABLE health_builds (
      uid INTEGER NOT NULL,
      program TEXT NOT NULL,
      build TEXT NOT NULL,
      release TEXT,
      environment TEXT,
      first TEXT NOT NULL,
      last TEXT NOT NULL,
      time_ms INTEGER NOT NULL,
      shared_ms INTEGER NOT NULL,
      begun INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      lost INTEGER NOT NULL,
      crashes INTEGER NOT NULL,
      PRIMARY KEY (uid, program, build)
    ) WITHOUT ROWID;

    -- The same counts for each hour. hour is the number of hours since 1970.
    CREATE TABLE health_hours (
      uid INTEGER NOT NULL,
      program TEXT NOT NULL,
      build TEXT NOT NULL,
      hour INTEGER NOT NULL,
      time_ms INTEGER NOT NULL,
      shared_ms INTEGER NOT NULL,
      begun INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      lost INTEGER NOT NULL,
      crashes INTEGER NOT NULL,
      PRIMARY KEY (uid, program, build, hour)
    ) WITHOUT ROWID;

    -- The restarts after crashes of a build. bucket is the logarithm of the time from the crash until the next process.
    CREATE TABLE health_returns (
      uid INTEGER NOT NULL,
      program TEXT NOT NULL,
      build TEXT NOT NULL,
      hour INTEGER NOT NULL,
      bucket INTEGER NOT NULL,
      count INTEGER NOT NULL,
      PRIMARY KEY (uid, program, build, hour, bucket)
    ) WITHOUT ROWID;

    -- The part of each process's counters that the counts above include, so that the next crashd counts only the rest.
    CREATE TABLE health_processes (
      uid INTEGER NOT NULL,
      ring TEXT NOT NULL,
      boot TEXT NOT NULL,
      counted_ns INTEGER NOT NULL,
      begun INTEGER NOT NULL,
      finished INTEGER NOT NULL,
      failed INTEGER NOT NULL,
      last_s INTEGER NOT NULL,
      ended INTEGER NOT NULL,
      PRIMARY KEY (uid, ring)
    ) WITHOUT ROWID;
    """
}

// Stores batches. Every batch is one transaction, and repeating it changes nothing.
extension FleetStore {
  /// Stores a batch, and returns what became of each item.
  ///
  /// After the call returned, all items are committed, and confirmed by the standbys that the database waits for. After
  /// an error, none or all of them are stored, and the caller sends the batch again.
  /// `now_us` is the fleet's time in microseconds since 1970, which decides what is older than the retention.
  public func ingest(
    _ items: [IngestItem], tenant: Int32, now_us: Int64
  ) async throws(FleetError) -> [IngestOutcome] {
    var batch = Batch(items, tenant: tenant, window: window(now_us: now_us))
    if batch.isEmpty { return batch.outcomes }
    let numbers = try await dimensions(of: items, tenant: tenant)
    batch.numbers = numbers
    let prepared = batch
    do throws(FleetError) {
      return try await retrying { connection throws(FleetError) in try prepared.store(connection) }
    } catch {
      // A partition is missing when maintenance has not run for days, for example after a restore of the database.
      guard case .refused("23514", _) = error else { throw error }
      try await maintain()
      return try await retrying { connection throws(FleetError) in try prepared.store(connection) }
    }
  }

  /// Returns the position that a forwarder of this machine committed last; nil if there is none.
  public func position(tenant: Int32, machine: UInt128, stream: String) async throws(FleetError) -> String? {
    try await retrying { connection throws(FleetError) in
      try connection.run(
        Statement(
          name: "find_position",
          sql: """
            select position from host_cursor c join host h on h.id = c.host
            where h.tenant = $1::int and h.machine = $2::uuid and c.stream = $3::text
            """), .int32(tenant) + .uuid(machine) + .text(stream)
      ).first
    }
  }

  /// Parses a machine id of 32 hexadecimal digits.
  public static func machine(_ text: String) -> UInt128? { IngestFields.number128(text) }

  private func window(now_us: Int64) -> IngestWindow {
    IngestWindow(
      today: now_us / IngestWindow.day_us, reportDays: Int64(configuration.reportDays),
      counterDays: Int64(configuration.counterMonths) * 28)
  }
}

/// The days that have partitions.
struct IngestWindow: Sendable {
  static let day_us: Int64 = 86_400 * 1_000_000
  static let hour_us: Int64 = 3_600 * 1_000_000

  /// Today in days since 1970.
  var today: Int64
  var reportDays: Int64
  var counterDays: Int64

  /// The number of days by which the clock of a host may be ahead.
  private static let ahead: Int64 = 2

  /// The partition of a report in days since 1970; nil if the report is too old.
  ///
  /// A time far in the future is wrong; its report is stored under 1970, rather than lost.
  func day(of time_us: Int64) -> Int64? {
    let day = time_us / Self.day_us
    if day > today + Self.ahead { return 0 }
    return day >= today - reportDays ? day : nil
  }

  /// The hour of a counter in hours since 1970; nil if the hour is too old.
  func hour(_ hour: Int64) -> Int64? {
    if hour / 24 > today + Self.ahead { return 0 }
    return hour / 24 >= today - counterDays ? hour : nil
  }
}

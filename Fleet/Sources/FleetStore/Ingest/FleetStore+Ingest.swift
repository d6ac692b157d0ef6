// Stores each batch in one transaction. Storing a batch again changes nothing.
extension FleetStore {
  /// Stores a batch, and returns the outcome of each item.
  ///
  /// When the call returns, all items are committed, and the synchronous standbys of the database have confirmed the
  /// commit. After an error, either none or all of the items are stored, and the caller must send the batch again.
  /// `now_us` is the time of the fleet service in microseconds since 1970. Items whose age at this time exceeds the
  /// retention are expired.
  public func ingest(
    _ items: [IngestItem], tenant: Int32, now_us: Int64 = now_us()
  ) async throws(FleetError) -> [IngestOutcome] {
    var batch = Batch(items, tenant: tenant, window: window(now_us: now_us))
    if batch.isEmpty { return batch.outcomes }
    for _ in 1..<Self.repairs {
      do throws(FleetError) { return try await store(&batch, items) } catch {
        switch error {
        case .stale: forget(batch.numbers)
        // A partition is missing when maintenance has not run for days, for example after a restore of the database.
        case .refused("23514", _): try await createPartitions()
        default: throw error
        }
      }
    }
    return try await store(&batch, items)
  }

  /// The number of attempts: after a restore of the database, both the cache and the partitions need a repair.
  private static let repairs = 3

  private func store(_ batch: inout Batch, _ items: [IngestItem]) async throws(FleetError) -> [IngestOutcome] {
    batch.numbers = try await dimensions(of: items, tenant: batch.numbers.tenant)
    let prepared = batch
    return try await retrying { connection throws(FleetError) in try prepared.store(connection) }
  }

  /// Returns the last committed position of the forwarder on this machine; nil if there is none.
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

/// The range of days for which partitions exist.
struct IngestWindow: Sendable {
  static let day_us: Int64 = 86_400 * 1_000_000
  static let hour_us: Int64 = 3_600 * 1_000_000

  /// Today in days since 1970.
  var today: Int64
  var reportDays: Int64
  var counterDays: Int64

  /// The maximum number of days by which a host's clock is allowed to be ahead.
  private static let ahead: Int64 = 2

  /// The partition of a report in days since 1970; nil if the report is too old.
  ///
  /// A time that is further in the future is wrong. Its report is stored under 1970, and is not lost.
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

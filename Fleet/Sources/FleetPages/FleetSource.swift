public import CrashPages
internal import CrashProtocol
internal import CrashReport
public import FleetStore

/// Provides the data of one tenant's pages, from the database of the fleet.
///
/// Each statement has the tenant as its first parameter, and selects only the rows of this tenant. About the whole
/// database, the health page shows only the schema version, the settings, the standbys, the size, the clock and a
/// missing partition. It names no other tenant, and no host of another tenant.
public struct FleetSource: PageSource {
  let store: FleetStore
  let tenant: Int32
  private let name: String

  /// Creates the source of a tenant.
  public init(_ store: FleetStore, tenant: Int32, named name: String) {
    (self.store, self.tenant, self.name) = (store, tenant, name)
  }

  /// What the reader can do if the database is not available.
  public var advice: String { "Check it with 'crash-fleet doctor', then reload this page." }

  /// Describes the tenant.
  public func scope() -> Scope {
    // Reports contain these properties, but the database has no columns for them.
    let unknown: [SearchTerm] = [.pod, .executable, .class, .trace, .tag, .pid]
    var scope = Scope(
      name: name, sections: [.timeline, .builds, .health], terms: SearchTerm.allCases.filter { !unknown.contains($0) },
      states: ["new", "regressed", "open", "resolved", "muted"])
    scope.hasChanges = true
    return scope
  }

  /// Returns the changes that crash-fleet announces.
  public func changes() -> AsyncStream<Bool>? {
    store.changes(tenant: tenant)
  }

  /// Runs a statement whose first parameters are the tenant and the conditions of a search.
  func rows(
    _ statement: Statement, _ search: Search, _ more: Parameters = Parameters()
  ) async throws(SourceError) -> [[String?]] {
    try await rows(statement, .int32(tenant) + SearchSQL.parameters(search) + more)
  }

  /// Runs a statement whose first parameter is the tenant.
  func rows(_ statement: Statement, _ parameters: Parameters) async throws(SourceError) -> [[String?]] {
    do throws(FleetError) { return try await store.rows(statement, parameters) } catch {
      // 57014 is the SQLSTATE of a statement that the server has canceled.
      if case .conflict("57014", _) = error {
        throw .unavailable(
          "the database needs more than \(FleetStore.pageSeconds) s for this page; search in a shorter time, such as"
            + " since:24h")
      }
      throw .unavailable("\(error)")
    }
  }

  /// Returns the number of items before a page.
  static func offset(_ cursor: String?) throws(SourceError) -> Int64 {
    guard let cursor else { return 0 }
    guard let offset = Int64(cursor), (0...1_000_000).contains(offset) else {
      throw .invalidSearch("no page '\(cursor)'")
    }
    return offset
  }

  /// Returns a time of the database as RFC 3339.
  static func time(_ microseconds: Int64) -> String {
    Timestamp.string(since1970_ns: UInt64(clamping: microseconds).multipliedReportingOverflow(by: 1_000).partialValue)
  }
}

public import CrashReport

/// Selects non-fatal incidents.
///
/// A property that is nil does not restrict the selection.
public struct IncidentFilter: Codable, Sendable, Hashable {
  /// The first digits of the incident's id, or of the part of the id after the dash.
  public var id: String?
  /// The part of the in-process library that recorded the incident.
  public var source: IncidentReport.Source?
  /// The kind of the incident.
  public var kind: IncidentReport.Kind?
  /// A part of the guard's call site, such as `Shop.swift:12`.
  public var site: String?
  /// The operation of the contained request that ended by the trap.
  public var route: String?
  /// A part of the program's name.
  public var name: String?
  /// The earliest time of the incident's last occurrence, as RFC 3339 in UTC.
  public var since: String?

  /// Creates a filter.
  public init(
    id: String? = nil, source: IncidentReport.Source? = nil, kind: IncidentReport.Kind? = nil, site: String? = nil,
    route: String? = nil, name: String? = nil, since: String? = nil
  ) {
    (self.id, self.source, self.kind) = (id, source, kind)
    (self.site, self.route, self.name, self.since) = (site, route, name, since)
  }
}

public import CrashReport

/// Selects incidents; nil does not restrict.
public struct IncidentFilter: Codable, Sendable, Hashable {
  /// The beginning of the id, or of its digits after the dash.
  public var id: String?
  /// The part of the shield that recorded it.
  public var source: IncidentReport.Source?
  /// The kind.
  public var kind: IncidentReport.Kind?
  /// A part of the guard's call site, such as `Shop.swift:12`.
  public var site: String?
  /// A part of the program's name.
  public var name: String?
  /// Last seen at this time or later, RFC 3339 in UTC.
  public var since: String?

  /// Makes a filter.
  public init(
    id: String? = nil, source: IncidentReport.Source? = nil, kind: IncidentReport.Kind? = nil, site: String? = nil,
    name: String? = nil, since: String? = nil
  ) {
    (self.id, self.source, self.kind) = (id, source, kind)
    (self.site, self.name, self.since) = (site, name, since)
  }
}

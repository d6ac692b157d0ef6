public import CrashReport

/// Incidents that have something in common, added up.
public struct IncidentSum: Codable, Sendable, Equatable {
  /// What incidents have in common that are added up.
  public enum Key: String, Sendable, CaseIterable {
    /// The part of the shield, and what it saw.
    case kind
    /// The same, and where the guard stands, or what the incident is about where it is no guard's.
    case site
    /// The program's name.
    case name
  }

  /// The part of the shield; empty where it is no part of the key, as the following three.
  public var source: IncidentReport.Source
  /// What it saw.
  public var kind: IncidentReport.Kind
  /// Where the guard stands, or what the incident is about.
  public var place: String
  /// The program's name.
  public var name: String
  /// How often it happened.
  public var count: Int
  /// In how many incidents.
  public var incidents: Int
  /// In how many processes.
  public var processes: Int
  /// When it was seen last: RFC 3339 in UTC.
  public var last: String
  /// The incident that was seen last.
  public var id: String

  /// Makes a sum from its parts.
  public init(
    source: IncidentReport.Source = .init(""), kind: IncidentReport.Kind = .init(""), place: String = "",
    name: String = "", count: Int, incidents: Int, processes: Int, last: String, id: String
  ) {
    (self.source, self.kind, self.place, self.name) = (source, kind, place, name)
    (self.count, self.incidents, self.processes) = (count, incidents, processes)
    (self.last, self.id) = (last, id)
  }
}

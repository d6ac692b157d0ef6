public import CrashReport

/// The counts of all incidents with the same grouping key, added up.
public struct IncidentSum: Codable, Sendable, Equatable {
  /// The grouping key of a sum.
  public enum Key: String, Sendable, CaseIterable {
    /// The source, and the kind of the fault.
    case kind
    /// The source, the kind of the fault, and the guard's call site. If an incident has no call site, its subject (the
    /// class or the message) is used instead.
    case site
    /// The program's name.
    case name
  }

  /// The part of the in-process library that recorded the incidents.
  ///
  /// The properties `source`, `kind`, `place` and `name` are empty if they are not part of the key.
  public var source: IncidentReport.Source
  /// The kind of the fault.
  public var kind: IncidentReport.Kind
  /// The guard's call site, or the subject of the incident.
  public var place: String
  /// The name of the program.
  public var name: String
  /// The number of occurrences of all these incidents.
  public var count: Int
  /// The number of incidents in the sum.
  public var incidents: Int
  /// The number of processes in which the incidents occurred.
  public var processes: Int
  /// The time of the last occurrence, as RFC 3339 in UTC.
  public var last: String
  /// The id of the incident with the latest occurrence.
  public var id: String

  /// Creates a sum from its parts.
  public init(
    source: IncidentReport.Source = .init(""), kind: IncidentReport.Kind = .init(""), place: String = "",
    name: String = "", count: Int, incidents: Int, processes: Int, last: String, id: String
  ) {
    (self.source, self.kind, self.place, self.name) = (source, kind, place, name)
    (self.count, self.incidents, self.processes) = (count, incidents, processes)
    (self.last, self.id) = (last, id)
  }
}

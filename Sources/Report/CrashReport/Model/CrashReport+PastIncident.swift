extension CrashReport {
  /// A non-fatal incident before the crash: an absorbed or observed fault, or a use-after-free.
  ///
  /// The incident with the same id has all of it, with stacks.
  public struct PastIncident: Codable, Sendable, Equatable {
    /// As `IncidentReport.id`.
    public var id: String
    /// RFC 3339 in UTC, of the first occurrence.
    public var first: String
    /// Of the last occurrence before this report.
    public var last: String
    /// The number of occurrences.
    public var count: Int
    /// As `IncidentReport.source`.
    public var source: IncidentReport.Source
    /// As `IncidentReport.kind`.
    public var kind: IncidentReport.Kind
    /// The reaction, as `IncidentReport.mode`.
    public var mode: IncidentReport.Mode
    /// What happened and where.
    public var sentence: String

    /// The short form of an incident.
    public init(_ incident: IncidentReport) {
      id = incident.id
      first = incident.first
      last = incident.last
      count = incident.count
      source = incident.source
      kind = incident.kind
      mode = incident.mode
      sentence = incident.sentence
    }
  }
}

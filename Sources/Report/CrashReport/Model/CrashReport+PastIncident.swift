extension CrashReport {
  /// What the shield saw in the process before its end: faults that it absorbed or let pass, uses of dead objects.
  ///
  /// The whole of it, with its stacks, is the incident of the same id.
  public struct PastIncident: Codable, Sendable, Equatable {
    /// As `IncidentReport.id`.
    public var id: String
    /// RFC 3339 in UTC, of the first time.
    public var first: String
    /// Of the last time before this report.
    public var last: String
    /// How often.
    public var count: Int
    /// As `IncidentReport.source`.
    public var source: IncidentReport.Source
    /// As `IncidentReport.kind`.
    public var kind: IncidentReport.Kind
    /// What was done about it, as `IncidentReport.mode`.
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

extension CrashReport {
  /// A non-fatal incident before the crash: an absorbed or observed fault, or a use-after-free.
  ///
  /// `IncidentReport` with the same id has all details, including the stacks.
  public struct PastIncident: Codable, Sendable, Equatable {
    /// The id, as in `IncidentReport.id`.
    public var id: String
    /// The time of the first occurrence, RFC 3339 in UTC.
    public var first: String
    /// The time of the last occurrence before this report.
    public var last: String
    /// The number of occurrences.
    public var count: Int
    /// The source, as in `IncidentReport.source`.
    public var source: IncidentReport.Source
    /// The kind, as in `IncidentReport.kind`.
    public var kind: IncidentReport.Kind
    /// The reaction of the shield, as in `IncidentReport.mode`.
    public var mode: IncidentReport.Mode
    /// What happened, and at which location.
    public var sentence: String

    /// Creates the short form of an incident.
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

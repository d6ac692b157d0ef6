extension CrashReport {
  /// A non-fatal incident that occurred before the crash: an absorbed or observed fault, or a use-after-free.
  ///
  /// The `IncidentReport` with the same id has all details, including the stacks.
  public struct PastIncident: Codable, Sendable, Equatable {
    /// The id, as in `IncidentReport.id`.
    public var id: String
    /// The time of the first occurrence, as RFC 3339 in UTC.
    public var first: String
    /// The time of the last occurrence before this report, as RFC 3339 in UTC.
    public var last: String
    /// The number of occurrences.
    public var count: Int
    /// The source, as in `IncidentReport.source`.
    public var source: IncidentReport.Source
    /// The kind, as in `IncidentReport.kind`.
    public var kind: IncidentReport.Kind
    /// The reaction of the in-process library, as in `IncidentReport.mode`.
    public var mode: IncidentReport.Mode
    /// A sentence about what happened and where.
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

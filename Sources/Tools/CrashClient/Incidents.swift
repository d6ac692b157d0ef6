public import CrashProtocol
public import CrashReport

extension CrashClient {
  /// What parts of the shield saw while processes went on, that of the last time first.
  ///
  /// - Parameter query: Which.
  /// - Returns: The incidents.
  /// - Throws: What kept crashd from answering.
  public func incidents(_ query: IncidentQuery) throws(ClientError) -> [IncidentReport] {
    try call(Methods.Incidents.self, query).incidents
  }

  /// The same with the parts of the query as parameters.
  ///
  /// - Parameters:
  ///   - id: How the id begins.
  ///   - source: Such as `quarantine`.
  ///   - name: A part of the program's name.
  ///   - offset: So many are left out before the first: those of the previous pages.
  ///   - limit: At most so many.
  /// - Returns: The incidents.
  /// - Throws: What kept crashd from answering.
  public func incidents(
    id: String? = nil, source: IncidentReport.Source? = nil, name: String? = nil, offset: Int? = nil, limit: Int? = nil
  ) throws(ClientError) -> [IncidentReport] {
    try incidents(
      IncidentQuery(limit: limit, offset: offset, filter: IncidentFilter(id: id, source: source, name: name)))
  }

  /// Incidents that have something in common, added up, what happened most often first.
  ///
  /// - Parameters:
  ///   - key: What they have in common.
  ///   - filter: Which incidents.
  ///   - limit: At most so many sums; 100 without it.
  /// - Returns: The sums.
  /// - Throws: What kept crashd from answering.
  public func topIncidents(
    by key: IncidentSum.Key, _ filter: IncidentFilter = IncidentFilter(), limit: Int? = nil
  ) throws(ClientError) -> [IncidentSum] {
    try call(Methods.TopIncidents.self, Joined(.init(limit: limit, by: key.rawValue), filter)).sums
  }
}

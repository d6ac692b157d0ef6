public import CrashProtocol
public import CrashReport

extension CrashClient {
  /// Returns non-fatal incidents, the most recently seen incident first.
  ///
  /// - Parameter query: The filter and the page.
  /// - Returns: The incidents.
  /// - Throws: `ClientError`.
  public func incidents(_ query: IncidentQuery) throws(ClientError) -> [IncidentReport] {
    try call(Methods.Incidents.self, query).incidents
  }

  /// Returns non-fatal incidents.
  ///
  /// This function has the parts of the query as separate parameters.
  ///
  /// - Parameters:
  ///   - id: The first digits of the id.
  ///   - source: The source, such as `quarantine`.
  ///   - name: A part of the program's name.
  ///   - offset: The number of incidents in the previous pages.
  ///   - limit: The maximum number of incidents.
  /// - Returns: The incidents.
  /// - Throws: `ClientError`.
  public func incidents(
    id: String? = nil, source: IncidentReport.Source? = nil, name: String? = nil, offset: Int? = nil, limit: Int? = nil
  ) throws(ClientError) -> [IncidentReport] {
    try incidents(
      IncidentQuery(limit: limit, offset: offset, filter: IncidentFilter(id: id, source: source, name: name)))
  }

  /// Returns the number of incidents for each value of a key, such as the call site, the greatest number first.
  ///
  /// - Parameters:
  ///   - key: The key to group by.
  ///   - filter: The filter that incidents must match.
  ///   - limit: The maximum number of values; 100 by default.
  /// - Returns: The values with their numbers.
  /// - Throws: `ClientError`.
  public func topIncidents(
    by key: IncidentSum.Key, _ filter: IncidentFilter = IncidentFilter(), limit: Int? = nil
  ) throws(ClientError) -> [IncidentSum] {
    try call(Methods.TopIncidents.self, Joined(.init(limit: limit, by: key.rawValue), filter)).sums
  }
}

public import CrashReport

/// Which incidents are meant; nil: any.
public struct IncidentQuery: Encodable, Sendable, Equatable {
  /// How the id begins.
  public var id: String?
  /// Such as `quarantine`.
  public var source: String?
  /// What it was, such as `index`.
  public var kind: String?
  /// A part of where the guard stands.
  public var site: String?
  /// A part of the program's name.
  public var name: String?
  /// Seen last at this time or later: RFC 3339 in UTC.
  public var since: String?
  /// So many are left out before the first: those of the previous pages.
  public var offset: Int?
  /// At most so many; 100 without it.
  public var limit: Int?

  /// Makes a query.
  public init(
    id: String? = nil, source: String? = nil, kind: String? = nil, site: String? = nil, name: String? = nil,
    since: String? = nil, offset: Int? = nil, limit: Int? = nil
  ) {
    self.id = id
    self.source = source
    self.kind = kind
    self.site = site
    self.name = name
    self.since = since
    self.offset = offset
    self.limit = limit
  }
}

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
  public var source: String
  /// What it saw.
  public var kind: String
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
    source: String = "", kind: String = "", place: String = "", name: String = "", count: Int, incidents: Int,
    processes: Int, last: String, id: String
  ) {
    (self.source, self.kind, self.place, self.name) = (source, kind, place, name)
    (self.count, self.incidents, self.processes) = (count, incidents, processes)
    (self.last, self.id) = (last, id)
  }
}

extension CrashClient {
  /// What parts of the shield saw while processes went on, that of the last time first.
  ///
  /// - Parameter query: Which.
  /// - Returns: The incidents.
  /// - Throws: What kept crashd from answering.
  public func incidents(_ query: IncidentQuery) throws(ClientError) -> [IncidentReport] {
    struct Parameters: Decodable { var incidents: [IncidentReport] }
    return try call("Incidents", query, returning: Parameters.self).incidents
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
    id: String? = nil, source: String? = nil, name: String? = nil, offset: Int? = nil, limit: Int? = nil
  ) throws(ClientError) -> [IncidentReport] {
    try incidents(IncidentQuery(id: id, source: source, name: name, offset: offset, limit: limit))
  }

  /// Incidents that have something in common, added up, what happened most often first.
  ///
  /// - Parameters:
  ///   - key: What they have in common.
  ///   - query: Which incidents; its limit is of the sums.
  /// - Returns: The sums.
  /// - Throws: What kept crashd from answering.
  public func topIncidents(
    by key: IncidentSum.Key, _ query: IncidentQuery = IncidentQuery()
  ) throws(ClientError) -> [IncidentSum] {
    struct Query: Encodable {
      var by: String
      var query: IncidentQuery

      func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(by, forKey: .by)
        try query.encode(to: encoder)
      }

      enum CodingKeys: String, CodingKey { case by }
    }
    struct Parameters: Decodable { var sums: [IncidentSum] }
    return try call("TopIncidents", Query(by: key.rawValue, query: query), returning: Parameters.self).sums
  }
}

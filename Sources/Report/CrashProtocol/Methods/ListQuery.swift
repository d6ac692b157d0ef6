/// Which reports `CrashClient.list` returns, and which page of them.
public struct ListQuery: Codable, Sendable, Equatable {
  /// At most so many; crashd may return fewer.
  public var limit: Int?
  /// Which reports.
  public var filter: ReportFilter
  /// Only reports older than this cursor: that of the last one of the previous page.
  public var before: String?
  /// Only reports newer than this cursor: the same where the oldest come first.
  public var after: String?
  /// The oldest first.
  public var oldestFirst: Bool?
  /// Whether crashd is to count what is behind the page.
  public var count: Bool?

  private enum CodingKeys: CodingKey { case limit, before, after, oldestFirst, count }

  /// Makes a query; without arguments it asks for all reports.
  public init(limit: Int? = nil, before: String? = nil, filter: ReportFilter = ReportFilter()) {
    (self.limit, self.before, self.filter) = (limit, before, filter)
  }

  /// Reads one; the keys of the filter stand beside the others.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    filter = try ReportFilter(from: decoder)
    before = try container.decodeIfPresent(String.self, forKey: .before)
    after = try container.decodeIfPresent(String.self, forKey: .after)
    oldestFirst = try container.decodeIfPresent(Bool.self, forKey: .oldestFirst)
    count = try container.decodeIfPresent(Bool.self, forKey: .count)
  }

  /// Writes it as it is read.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(limit, forKey: .limit)
    try filter.encode(to: encoder)
    try container.encodeIfPresent(before, forKey: .before)
    try container.encodeIfPresent(after, forKey: .after)
    try container.encodeIfPresent(oldestFirst, forKey: .oldestFirst)
    try container.encodeIfPresent(count, forKey: .count)
  }
}

/// Which incidents `CrashClient.incidents` returns, and which page of them.
public struct IncidentQuery: Codable, Sendable, Equatable {
  /// At most so many; 100 without it.
  public var limit: Int?
  /// So many are left out before the first: those of the previous pages.
  public var offset: Int?
  /// Where a stream goes on: it has what was stored, or counted on, after that.
  public var cursor: String?
  /// Which incidents.
  public var filter: IncidentFilter

  private enum CodingKeys: CodingKey { case limit, offset, cursor }

  /// Makes a query; without arguments it asks for the newest incidents.
  public init(
    limit: Int? = nil, offset: Int? = nil, cursor: String? = nil, filter: IncidentFilter = IncidentFilter()
  ) {
    (self.limit, self.offset, self.cursor, self.filter) = (limit, offset, cursor, filter)
  }

  /// Reads one; the keys of the filter stand beside the others.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    offset = try container.decodeIfPresent(Int.self, forKey: .offset)
    cursor = try container.decodeIfPresent(String.self, forKey: .cursor)
    filter = try IncidentFilter(from: decoder)
  }

  /// Writes it as it is read.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(limit, forKey: .limit)
    try container.encodeIfPresent(offset, forKey: .offset)
    try container.encodeIfPresent(cursor, forKey: .cursor)
    try filter.encode(to: encoder)
  }
}

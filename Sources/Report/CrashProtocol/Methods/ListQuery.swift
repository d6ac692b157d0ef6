/// Selects the reports of `CrashClient.list`, and a page of them.
public struct ListQuery: Codable, Sendable, Equatable {
  /// The limit of reports; crashd may return fewer.
  public var limit: Int?
  /// The filter of reports.
  public var filter: ReportFilter
  /// Only reports older than this cursor: that of the last one of the previous page.
  public var before: String?
  /// Only reports newer than this cursor: the same for lists with the oldest first.
  public var after: String?
  /// The oldest first.
  public var oldestFirst: Bool?
  /// Whether crashd counts the reports after the page.
  public var count: Bool?

  private enum CodingKeys: CodingKey { case limit, before, after, oldestFirst, count }

  /// Makes a query; without arguments it asks for all reports.
  public init(limit: Int? = nil, before: String? = nil, filter: ReportFilter = ReportFilter()) {
    (self.limit, self.before, self.filter) = (limit, before, filter)
  }

  /// Decodes one; the keys of the filter are beside the others.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    filter = try ReportFilter(from: decoder)
    before = try container.decodeIfPresent(String.self, forKey: .before)
    after = try container.decodeIfPresent(String.self, forKey: .after)
    oldestFirst = try container.decodeIfPresent(Bool.self, forKey: .oldestFirst)
    count = try container.decodeIfPresent(Bool.self, forKey: .count)
  }

  /// Encodes it in the same form.
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

/// Selects the incidents of `CrashClient.incidents`, and a page of them.
public struct IncidentQuery: Codable, Sendable, Equatable {
  /// The limit of incidents; 100 by default.
  public var limit: Int?
  /// The number of incidents to skip: those of the previous pages.
  public var offset: Int?
  /// The cursor of a stream: it has everything that was stored, or counted again, after it.
  public var cursor: String?
  /// The filter of incidents.
  public var filter: IncidentFilter

  private enum CodingKeys: CodingKey { case limit, offset, cursor }

  /// Makes a query; without arguments it asks for the newest incidents.
  public init(
    limit: Int? = nil, offset: Int? = nil, cursor: String? = nil, filter: IncidentFilter = IncidentFilter()
  ) {
    (self.limit, self.offset, self.cursor, self.filter) = (limit, offset, cursor, filter)
  }

  /// Decodes one; the keys of the filter are beside the others.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    offset = try container.decodeIfPresent(Int.self, forKey: .offset)
    cursor = try container.decodeIfPresent(String.self, forKey: .cursor)
    filter = try IncidentFilter(from: decoder)
  }

  /// Encodes it in the same form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(limit, forKey: .limit)
    try container.encodeIfPresent(offset, forKey: .offset)
    try container.encodeIfPresent(cursor, forKey: .cursor)
    try filter.encode(to: encoder)
  }
}

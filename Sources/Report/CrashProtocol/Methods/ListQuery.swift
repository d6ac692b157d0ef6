/// Selects and orders the reports that `CrashClient.list` returns, one page at a time.
public struct ListQuery: Codable, Sendable, Equatable {
  /// The maximum number of reports on the page.
  ///
  /// crashd can return fewer reports.
  public var limit: Int?
  /// The filter for the reports.
  public var filter: ReportFilter
  /// The list contains only reports that are older than this cursor.
  ///
  /// For the next page, pass the cursor of the last report on the previous page.
  public var before: String?
  /// The list contains only reports that are newer than this cursor.
  ///
  /// For the next page of a list that begins with the oldest report, pass the cursor of the last report on the previous
  /// page.
  public var after: String?
  /// Whether the oldest report comes first.
  public var oldestFirst: Bool?
  /// Whether crashd also counts the matching reports after this page.
  public var count: Bool?

  private enum CodingKeys: CodingKey { case limit, before, after, oldestFirst, count }

  /// Creates a query.
  ///
  /// A query without arguments selects all reports.
  public init(limit: Int? = nil, before: String? = nil, filter: ReportFilter = ReportFilter()) {
    (self.limit, self.before, self.filter) = (limit, before, filter)
  }

  /// Decodes a query.
  ///
  /// The keys of the filter are in the same JSON object as the other keys of the query.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    filter = try ReportFilter(from: decoder)
    before = try container.decodeIfPresent(String.self, forKey: .before)
    after = try container.decodeIfPresent(String.self, forKey: .after)
    oldestFirst = try container.decodeIfPresent(Bool.self, forKey: .oldestFirst)
    count = try container.decodeIfPresent(Bool.self, forKey: .count)
  }

  /// Encodes the query and its filter in one JSON object.
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

/// Selects the incidents that `CrashClient.incidents` returns, one page at a time.
public struct IncidentQuery: Codable, Sendable, Equatable {
  /// The maximum number of incidents; the default is 100.
  public var limit: Int?
  /// The number of incidents to skip: the number of incidents on the previous pages.
  public var offset: Int?
  /// The cursor at which a stream begins.
  ///
  /// The stream contains incidents that were stored after the cursor, and incidents whose count grew after the cursor.
  public var cursor: String?
  /// The filter for the incidents.
  public var filter: IncidentFilter

  private enum CodingKeys: CodingKey { case limit, offset, cursor }

  /// Creates a query.
  ///
  /// A query without arguments selects the newest incidents.
  public init(
    limit: Int? = nil, offset: Int? = nil, cursor: String? = nil, filter: IncidentFilter = IncidentFilter()
  ) {
    (self.limit, self.offset, self.cursor, self.filter) = (limit, offset, cursor, filter)
  }

  /// Decodes a query.
  ///
  /// The keys of the filter are in the same JSON object as the other keys of the query.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    offset = try container.decodeIfPresent(Int.self, forKey: .offset)
    cursor = try container.decodeIfPresent(String.self, forKey: .cursor)
    filter = try IncidentFilter(from: decoder)
  }

  /// Encodes the query and its filter in one JSON object.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(limit, forKey: .limit)
    try container.encodeIfPresent(offset, forKey: .offset)
    try container.encodeIfPresent(cursor, forKey: .cursor)
    try filter.encode(to: encoder)
  }
}

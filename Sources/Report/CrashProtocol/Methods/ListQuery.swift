/// Selects the reports of `CrashClient.list`, and a page of them.
public struct ListQuery: Codable, Sendable, Equatable {
  /// The maximum number of reports.
  ///
  /// crashd may return fewer.
  public var limit: Int?
  /// The filter of reports.
  public var filter: ReportFilter
  /// Selects only reports older than this cursor.
  ///
  /// Pass the cursor of the last report of the previous page.
  public var before: String?
  /// Selects only reports newer than this cursor, for lists that begin with the oldest report.
  public var after: String?
  /// Whether the list begins with the oldest report.
  public var oldestFirst: Bool?
  /// Whether crashd counts the reports after the page.
  public var count: Bool?

  private enum CodingKeys: CodingKey { case limit, before, after, oldestFirst, count }

  /// Creates a query.
  ///
  /// Without arguments it selects all reports.
  public init(limit: Int? = nil, before: String? = nil, filter: ReportFilter = ReportFilter()) {
    (self.limit, self.before, self.filter) = (limit, before, filter)
  }

  /// Decodes a query.
  ///
  /// The keys of the filter are in the same object as the other keys.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    filter = try ReportFilter(from: decoder)
    before = try container.decodeIfPresent(String.self, forKey: .before)
    after = try container.decodeIfPresent(String.self, forKey: .after)
    oldestFirst = try container.decodeIfPresent(Bool.self, forKey: .oldestFirst)
    count = try container.decodeIfPresent(Bool.self, forKey: .count)
  }

  /// Encodes the query in the same form.
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
  /// The maximum number of incidents, by default 100.
  public var limit: Int?
  /// The number of incidents in the previous pages, which are skipped.
  public var offset: Int?
  /// The cursor of a stream.
  ///
  /// It selects the incidents that were stored, or whose count grew, after the cursor.
  public var cursor: String?
  /// The filter of incidents.
  public var filter: IncidentFilter

  private enum CodingKeys: CodingKey { case limit, offset, cursor }

  /// Creates a query.
  ///
  /// Without arguments it selects the newest incidents.
  public init(
    limit: Int? = nil, offset: Int? = nil, cursor: String? = nil, filter: IncidentFilter = IncidentFilter()
  ) {
    (self.limit, self.offset, self.cursor, self.filter) = (limit, offset, cursor, filter)
  }

  /// Decodes a query.
  ///
  /// The keys of the filter are in the same object as the other keys.
  public init(from decoder: any Decoder) throws {
    let container = try decoder.container(keyedBy: CodingKeys.self)
    limit = try container.decodeIfPresent(Int.self, forKey: .limit)
    offset = try container.decodeIfPresent(Int.self, forKey: .offset)
    cursor = try container.decodeIfPresent(String.self, forKey: .cursor)
    filter = try IncidentFilter(from: decoder)
  }

  /// Encodes the query in the same form.
  public func encode(to encoder: any Encoder) throws {
    var container = encoder.container(keyedBy: CodingKeys.self)
    try container.encodeIfPresent(limit, forKey: .limit)
    try container.encodeIfPresent(offset, forKey: .offset)
    try container.encodeIfPresent(cursor, forKey: .cursor)
    try filter.encode(to: encoder)
  }
}

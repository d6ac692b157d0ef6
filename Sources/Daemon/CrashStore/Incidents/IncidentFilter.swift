import GRDB

/// Which incidents are meant; nil: any.
public struct IncidentFilter: Sendable, Equatable {
  /// How the id begins.
  public var idPrefix: String?
  /// The part of the shield that saw it.
  public var source: String?
  /// What it was, as the report has it.
  public var kind: String?
  /// A part of where the guard stands, such as `Shop.swift:12`.
  public var site: String?
  /// A part of the program's name.
  public var name: String?
  /// Seen at this time or later, RFC 3339 in UTC.
  public var since: String?

  /// Makes a filter.
  public init(
    idPrefix: String? = nil, source: String? = nil, kind: String? = nil, site: String? = nil, name: String? = nil,
    since: String? = nil
  ) {
    self.idPrefix = idPrefix
    self.source = source
    self.kind = kind
    self.site = site
    self.name = name
    self.since = since
  }

  /// What stands only in the report is read there: of 10,000 rows at most.
  static let clause = """
    (:uid IS NULL OR uid = :uid) AND (:source IS NULL OR source = :source)
      AND (:name IS NULL OR instr(name, :name) > 0) AND (:id IS NULL OR substr(id, 1, length(:id)) = :id)
      AND (:since IS NULL OR last >= :since)
      AND (:kind IS NULL OR json_extract(CAST(json AS TEXT), '$.kind') = :kind)
      AND (:site IS NULL OR instr(json_extract(CAST(json AS TEXT), '$.site'), :site) > 0)
    """

  func arguments(_ visibility: Visibility, offset: Int = 0, limit: Int) -> StatementArguments {
    [
      "uid": visibility.uid, "source": source, "name": name, "id": idPrefix, "since": since, "kind": kind,
      "site": site, "limit": limit, "offset": offset,
    ]
  }
}

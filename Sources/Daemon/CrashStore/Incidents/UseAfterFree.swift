import CrashReport
import FoundationEssentials
import GRDB

/// The fields of a use-after-free incident that the query `danglingGroups` reads.
///
/// The fields have a separate table, because the rows of the table `incidents` also contain the JSON, which is large.
///
/// Complexity: a row has at most `rowBytes` bytes, even if a process records long strings. Therefore, the size of a
/// page of groups is limited.
struct UseAfterFree: Encodable, PersistableRecord {
  static let databaseTableName = "use_after_frees"
  /// The maximum number of JSON bytes that `fill` reads.
  ///
  /// Older incidents beyond this limit are not in any group. The limit is reached only if processes make their
  /// incidents large on purpose.
  static let fillLimitBytes = 256 << 20
  private static let nameLimitBytes = 2_048
  private static let wordLimitBytes = 64
  /// The maximum total size of the strings in a row.
  static let rowBytes = 6 * nameLimitBytes + 8 * wordLimitBytes

  /// The ID and the owner of the incident.
  var id: String
  var uid: Int64
  // The key of the incident's group consists of the uid and the following fields.
  var program: String
  var subject: String
  var kind: String
  /// The called method; empty if no method was called.
  var method: String
  var place: String

  var line: String
  var process: String
  var build: String
  var mode: String
  var confidence: String
  /// The function that made the last release of the object; nil if it is unknown.
  var release: String?
  var first: String
  var last: String
  var count: Int
  var age_ns: Int?

  /// Returns nil if the incident is not a use-after-free.
  init?(_ incident: IncidentReport) {
    guard incident.id.utf8.count <= Self.wordLimitBytes else { return nil }
    switch (incident.source, incident.kind) {
    case (.quarantine, _): break
    // Other incidents of guard pages, such as out-of-bounds accesses, are not uses after free.
    case (.pages, .read), (.pages, .write), (.pages, .doubleFree): break
    default: return nil
    }
    let use = incident.use.first { $0.isOwn && !$0.function.isEmpty } ?? incident.use.first { !$0.function.isEmpty }
    id = incident.id
    uid = incident.process.ownerKey
    program = incident.process.name.cut(Self.nameLimitBytes)
    subject = incident.subject.cut(Self.nameLimitBytes)
    kind = incident.kind.rawValue.cut(Self.wordLimitBytes)
    method = (incident.method ?? "").cut(Self.nameLimitBytes)
    place = (use?.function ?? "").cut(Self.nameLimitBytes)
    line = CrashReport.Frame.position(file: use?.file, line: use?.line).cut(Self.nameLimitBytes)
    process = String(incident.id.prefix { $0 != "-" })
    build = incident.process.buildID.cut(Self.wordLimitBytes)
    mode = incident.mode.rawValue.cut(Self.wordLimitBytes)
    confidence = incident.confidence.rawValue.cut(Self.wordLimitBytes)
    release = incident.object.flatMap { Self.release(of: $0) }?.cut(Self.nameLimitBytes)
    first = incident.first.cut(Self.wordLimitBytes)
    last = incident.last.cut(Self.wordLimitBytes)
    count = max(0, incident.count)
    age_ns = incident.object?.age_ns
  }

  /// Returns the name of the innermost in-app function at the last release.
  ///
  /// If there is no in-app function, the result is the innermost frame.
  private static func release(of object: IncidentReport.Object) -> String? {
    let frame = object.release.first { $0.isOwn && !$0.function.isEmpty } ?? object.release.first
    return frame.map { $0.function.isEmpty ? $0.address.description : $0.function }
  }

  /// Creates rows for the incidents that have no row, newest incident first.
  ///
  /// A row is missing if the incident was stored by an older crashd or was copied from a database that was set aside.
  static func fill(in database: Database, limitBytes: Int = fillLimitBytes) throws {
    let rows = try Row.fetchCursor(
      database,
      sql: """
        SELECT id, uid, CAST(json AS BLOB) AS json FROM incidents WHERE source IN ('quarantine', 'pages')
        ORDER BY rowid DESC
        """)
    var bytes = 0
    while let row = try rows.next() {
      guard let json = row["json"] as Data? else { continue }
      bytes += json.count
      guard bytes <= limitBytes else { return }
      // Incidents that an older crashd stored in another format belong to no group. Compare the ID and the uid of the
      // JSON with those of the row, in order to detect a damaged database.
      guard let incident = try? JSONDecoder().decode(IncidentReport.self, from: json), let use = Self(incident),
        row["id"] as DatabaseValue == use.id.databaseValue, row["uid"] as DatabaseValue == use.uid.databaseValue
      else { continue }
      try use.insert(database, onConflict: .ignore)
    }
  }
}

extension String {
  /// Returns the beginning of the string, with at most `limit` bytes in UTF-8.
  fileprivate func cut(_ limit: Int) -> String {
    // If an index is inside a Unicode scalar, Swift rounds it down to the beginning of the scalar.
    utf8.count <= limit ? self : String(self[..<utf8.index(startIndex, offsetBy: limit)])
  }
}

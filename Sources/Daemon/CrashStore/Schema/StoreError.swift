/// The errors that the methods of the store throw.
public enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file is a database that belongs to another program.
  ///
  /// The operator should move the file away or choose another state directory.
  case notADatabase(path: String)
  /// Parts of the database file are damaged.
  ///
  /// The caller should set the file aside and create a new database.
  case corrupt(path: String, reason: String)
  /// A later version of crashd wrote the file.
  ///
  /// The operator should run the later version or move the file away.
  case tooNew(path: String, version: String)
  /// The file cannot be opened, read or written now, for example because of permissions, a full disk or an I/O error.
  case unavailable(path: String, reason: String)
  /// A stored report is damaged, but other reports can be read.
  ///
  /// A later crash of the same process would replace the report.
  case unreadable(id: String)
  /// A report of another process already has the given ID, so nothing was stored.
  ///
  /// The caller should store the report under another ID.
  case identifierTaken(id: String)
  /// No report has an ID that begins with the given prefix.
  case noSuchReport(id: String)
  /// Several reports have IDs that begin with the given prefix.
  case ambiguous(id: String, count: Int)
  /// The stored report has changed since the caller read it, so nothing was stored.
  case changedMeanwhile(id: String)
  /// No group, or more than one group, has a key that begins with the given prefix.
  case noSuchGroup(key: String)
  /// No subscriber has the given name.
  case noSuchSubscriber(name: String)
  /// The user already has the maximum number of named subscribers.
  case tooManySubscribers(limit: Int)
  /// The cursor was not issued by this store.
  case invalidCursor(String)

  /// Whether the error means that the database file is damaged.
  public var isCorruption: Bool {
    if case .corrupt = self { true } else { false }
  }

  /// A message that states what failed, for which file or ID, and why.
  public var description: String {
    switch self {
    case .notADatabase(let path): "cannot open '\(path)': it is not a report database"
    case .corrupt(let path, let reason): "'\(path)' is corrupt: \(reason)"
    case .tooNew(let path, let version): "cannot open '\(path)': it was written by a later version (\(version))"
    case .unavailable(let path, let reason): "cannot use '\(path)': \(reason)"
    case .unreadable(let id): "report \(id) cannot be read"
    case .identifierTaken(let id): "report \(id) belongs to another process"
    case .noSuchReport(let id): "no report has an id that begins with '\(id)'"
    case .ambiguous(let id, let count): "\(count) reports have an id that begins with '\(id)'"
    case .changedMeanwhile(let id): "report \(id) has changed in the meantime"
    case .noSuchGroup(let key): "no group has a key that begins with '\(key)'"
    case .noSuchSubscriber(let name): "there is no subscriber '\(name)'"
    case .tooManySubscribers(let limit): "the limit of \(limit) named subscribers is reached"
    case .invalidCursor(let text): "'\(text)' is not a cursor of this store"
    }
  }
}

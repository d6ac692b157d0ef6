/// What can go wrong with the store.
public enum StoreError: Error, Sendable, Equatable, CustomStringConvertible {
  /// The file is another program's database. Move it away, or choose another state directory.
  case notADatabase(path: String)
  /// Parts of the file are not what was written. Set it aside, and begin a new one.
  case corrupt(path: String, reason: String)
  /// The file was written by a later version. Run that version, or move the file away.
  case tooNew(path: String, version: String)
  /// The file cannot be opened, read or written now (permissions, disk full, I/O error).
  case unavailable(path: String, reason: String)
  /// A stored report is not what was written; the others are well. Crashes of the same process replace it.
  case unreadable(id: String)
  /// A report of another process has this id already; nothing was stored. Store it under another id.
  case identifierTaken(id: String)
  /// No report's id begins with this.
  case noSuchReport(id: String)
  /// Several do.
  case ambiguous(id: String, count: Int)
  /// The report is not the one any more that was to be replaced; nothing was stored.
  case changedMeanwhile(id: String)
  /// No group's key begins with this.
  case noSuchGroup(key: String)
  /// There is no subscriber of this name.
  case noSuchSubscriber(name: String)
  /// The user has as many named subscribers as the limit allows.
  case tooManySubscribers(limit: Int)
  /// A cursor that this store never gave out.
  case invalidCursor(String)

  /// Whether the file is not what was written.
  public var isCorruption: Bool {
    if case .corrupt = self { true } else { false }
  }

  /// What failed, on what, why.
  public var description: String {
    switch self {
    case .notADatabase(let path): "cannot open '\(path)': it is no report database"
    case .corrupt(let path, let reason): "'\(path)' is corrupt: \(reason)"
    case .tooNew(let path, let version): "cannot open '\(path)': it was written by a later version (\(version))"
    case .unavailable(let path, let reason): "cannot use '\(path)': \(reason)"
    case .unreadable(let id): "report \(id) cannot be read"
    case .identifierTaken(let id): "report \(id) belongs to another process"
    case .noSuchReport(let id): "no report has an id that begins with '\(id)'"
    case .ambiguous(let id, let count): "\(count) reports have an id that begins with '\(id)'"
    case .changedMeanwhile(let id): "report \(id) has changed meanwhile"
    case .noSuchGroup(let key): "no group has a key that begins with '\(key)'"
    case .noSuchSubscriber(let name): "there is no subscriber '\(name)'"
    case .tooManySubscribers(let limit): "there are \(limit) named subscribers already"
    case .invalidCursor(let text): "'\(text)' is no cursor of this store"
    }
  }
}

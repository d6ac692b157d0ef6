import CrashReport
import CrashStore

/// Removal of reports, and subscribers that come too late for some.
extension CrashdInterface {
  private static let removedAtOnce = 1_000

  func prune(_ call: VarlinkCall, _ visibility: Visibility) async throws(VarlinkError) -> PruneReply {
    let parameters = try VarlinkParameters(call, known: ["before", "dryRun", "limit"])
    let before = try parameters.required("before", time("before", parameters))
    let isDryRun = try parameters.bool("dryRun") ?? false
    let limit = try parameters.int("limit", in: 1...Int64.max) ?? Int.max
    if isDryRun {
      return PruneReply(
        removed: try reading { () throws(StoreError) in try store.count(before: before, visibility: visibility) })
    }
    var removed = 0
    while removed < limit {
      let count = try reading { () throws(StoreError) in try store.remove(before: before, visibility: visibility) }
      guard count > 0 else { break }
      removed += count
      // Each step is a transaction of its own: crashes that are to be stored come between.
      await Task.yield()
    }
    if removed > 0 { ledger.count(removed: [RetentionReason.asked.rawValue: removed]) }
    trouble.wake()
    return PruneReply(removed: removed)
  }

  func remove(_ call: VarlinkCall, _ visibility: Visibility) throws(VarlinkError) -> RemoveReply {
    let parameters = try VarlinkParameters(call, known: ["ids"])
    let prefixes = try parameters.required("ids", parameters.strings("ids", limit: Self.removedAtOnce))
    // All of them or none: a prefix that fits no report, or two, may be a slip of the finger.
    var ids: [String] = []
    for prefix in prefixes {
      guard !prefix.isEmpty else { throw .invalidParameter("ids") }
      ids.append(
        try reading { () throws(StoreError) in
          try store.report(idPrefix: prefix, visibility: visibility).report.id
        })
    }
    var removed: [String] = []
    for id in ids where !removed.contains(id) {
      removed.append(try reading { () throws(StoreError) in try store.remove(idPrefix: id, visibility: visibility) })
    }
    if !removed.isEmpty { ledger.count(removed: [RetentionReason.asked.rawValue: removed.count]) }
    trouble.wake()
    return RemoveReply(removed: removed)
  }

  /// What was removed behind a cursor before its reader came.
  func missed(after cursor: StoreCursor, _ visibility: Visibility) throws(VarlinkError) -> ReportStore.Missed {
    try reading { () throws(StoreError) in try store.removed(after: cursor, visibility: visibility) }
  }
}

struct PruneReply: Encodable, Sendable {
  var removed: Int
}

struct RemoveReply: Encodable, Sendable {
  var removed: [String]
}

extension VarlinkParameters {
  /// A list of texts.
  func strings(_ name: String, limit: Int) throws(VarlinkError) -> [String]? {
    switch try value(name) {
    case nil: return nil
    case .array(let values) where values.count <= limit:
      var texts: [String] = []
      for value in values {
        guard case .string(let text) = value else { throw .invalidParameter(name) }
        texts.append(text)
      }
      return texts
    default: throw .invalidParameter(name)
    }
  }
}

extension VarlinkError {
  /// Events were removed before they were read.
  static func cursorExpired(_ missed: ReportStore.Missed) -> VarlinkError {
    VarlinkError(
      name: "io.crashshield.Crashd.CursorExpired",
      parameters: ["lost": .int(Int64(missed.count)), "exact": .bool(missed.isExact)])
  }
}

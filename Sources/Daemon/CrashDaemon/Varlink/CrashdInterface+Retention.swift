import CrashProtocol
import CrashReport
import CrashStore

/// Removes reports, and detects that subscribers missed removed reports.
extension CrashdInterface {
  static func bindRetention(in table: inout HandlerTable) {
    table.bind(Methods.Prune.self, CrashdInterface.prune)
    table.bind(Methods.Remove.self, CrashdInterface.remove)
  }

  private static let removedAtOnce = 1_000

  func prune(
    _ parameters: Methods.Prune.Parameters, _ client: Client
  ) async throws(ProtocolError) -> Methods.Prune.Reply {
    guard let before = try time(parameters.before, "before") else { throw .invalidParameter("before") }
    let limit = try checked(parameters.limit, "limit", in: 1...Int.max) ?? Int.max
    let visibility = client.visibility
    if parameters.dryRun == true {
      return Methods.Prune.Reply(
        removed: try reading { () throws(StoreError) in try store.count(before: before, visibility: visibility) })
    }
    var removed = 0
    while removed < limit {
      let count = try reading { () throws(StoreError) in try store.remove(before: before, visibility: visibility) }
      guard count > 0 else { break }
      removed += count
      // Remove the reports in several transactions, so that crashd can store crashes between two transactions.
      await Task.yield()
    }
    if removed > 0 { ledger.count(removed: [RetentionReason.asked.rawValue: removed]) }
    outage.wake()
    return Methods.Prune.Reply(removed: removed)
  }

  func remove(_ parameters: Methods.Remove.Parameters, _ client: Client) throws(ProtocolError) -> Methods.Remove.Reply {
    let visibility = client.visibility
    guard parameters.ids.count <= Self.removedAtOnce else { throw .invalidParameter("ids") }
    // Remove either all requested reports or none of them. If a prefix matches no report or several reports, it is
    // perhaps a typing error.
    var ids: [String] = []
    for prefix in parameters.ids {
      guard !prefix.isEmpty else { throw .invalidParameter("ids") }
      ids.append(
        try reading { () throws(StoreError) in
          try store.report(idPrefix: prefix, visibility: visibility).id
        })
    }
    var removed: [String] = []
    for id in ids where !removed.contains(id) {
      removed.append(try reading { () throws(StoreError) in try store.remove(idPrefix: id, visibility: visibility) })
    }
    if !removed.isEmpty { ledger.count(removed: [RetentionReason.asked.rawValue: removed.count]) }
    outage.wake()
    return Methods.Remove.Reply(removed: removed)
  }

  /// Returns the number of events after a cursor (the subscriber's position in the stored events) that were removed
  /// before the subscriber read them.
  func missed(after cursor: StoreCursor, _ visibility: Visibility) throws(ProtocolError) -> ReportStore.Missed {
    try reading { () throws(StoreError) in try store.removed(after: cursor, visibility: visibility) }
  }
}

internal import CrashProtocol

// Removes stored reports.
extension CrashClient {
  /// Removes the reports of crashes before a time; the groups still count the removed crashes.
  /// - Parameters:
  ///   - time: The time in RFC 3339.
  ///   - isDryRun: Whether to count the reports without removing them.
  ///   - limit: The number of removed reports after which the call stops. The call can slightly exceed `limit`. If the
  ///     result is at least `limit`, more reports can remain: repeat the call.
  /// - Returns: The number of removed reports.
  /// - Throws: `ClientError`.
  public func prune(before time: String, isDryRun: Bool = false, limit: Int? = nil) throws(ClientError) -> Int {
    try call(Methods.Prune.self, .init(before: time, dryRun: isDryRun, limit: limit)).removed
  }

  /// Removes the reports whose ids begin with `ids`, either all of them or none.
  ///
  /// The groups no longer count the removed reports.
  /// - Returns: The full ids.
  public func remove(ids: [String]) throws(ClientError) -> [String] {
    try call(Methods.Remove.self, .init(ids: ids)).removed
  }
}

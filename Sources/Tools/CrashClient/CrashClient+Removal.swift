internal import CrashProtocol

// Removal of reports.
extension CrashClient {
  /// Removes the reports of crashes before a time; their groups still count them.
  /// - Parameters:
  ///   - time: RFC 3339.
  ///   - isDryRun: Only counts them.
  ///   - limit: Stops after about this many, never before; call it again if it removed as many.
  /// - Returns: The number of reports.
  /// - Throws: `ClientError`.
  public func prune(before time: String, isDryRun: Bool = false, limit: Int? = nil) throws(ClientError) -> Int {
    try call(Methods.Prune.self, .init(before: time, dryRun: isDryRun, limit: limit)).removed
  }

  /// Removes the reports whose ids begin with these, all of them or none; their groups no longer count them.
  /// - Returns: The whole ids.
  public func remove(ids: [String]) throws(ClientError) -> [String] {
    try call(Methods.Remove.self, .init(ids: ids)).removed
  }
}

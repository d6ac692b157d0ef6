internal import CrashProtocol

// Reports that are to be gone.
extension CrashClient {
  /// Removes the reports of crashes before a time; their groups still count them.
  /// - Parameters:
  ///   - time: RFC 3339.
  ///   - isDryRun: Only tells how many they are.
  ///   - limit: Ends when about so many are gone, never before; call it again when it was no less.
  /// - Returns: How many they are.
  /// - Throws: What kept crashd from doing it.
  public func prune(before time: String, isDryRun: Bool = false, limit: Int? = nil) throws(ClientError) -> Int {
    try call(Methods.Prune.self, .init(before: time, dryRun: isDryRun, limit: limit)).removed
  }

  /// Removes the reports whose ids begin with these, all of them or none; their groups forget them.
  /// - Returns: The whole ids.
  public func remove(ids: [String]) throws(ClientError) -> [String] {
    try call(Methods.Remove.self, .init(ids: ids)).removed
  }
}

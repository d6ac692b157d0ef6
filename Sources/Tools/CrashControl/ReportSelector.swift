public import CrashClient
public import CrashProtocol
public import CrashReport

/// Finds the reports that an argument of the command line selects: by id, pid, program, unit, path or group.
public enum ReportSelector: Sendable {
  /// The maximum number of digits of a pid.
  ///
  /// Ids in lists have at least eight digits, so a number with fewer digits is a pid.
  private static let pidDigits = 7
  private static let unitTypes = ["service", "scope", "slice", "socket", "timer", "mount"]

  /// Calls crashd for the report that `word` selects.
  ///
  /// If `word` selects several reports, the call is for the newest of them.
  ///
  /// If `word` is nil, `call` receives nil, which selects the newest of all reports.
  /// - Throws: `noSuchReport` if the word selects no report, or what `call` throws.
  public static func ask<Result>(
    about word: String?, of client: CrashClient, _ call: (_ id: String?) throws(ClientError) -> Result
  ) throws(ClientError) -> Result {
    guard let word else { return try call(nil) }
    // A number with few digits is a pid, because the ids that lists show have at least eight digits.
    let isPID = pid(word) != nil
    if isPID, let found = try newest(ReportFilter(pid: pid(word)), of: client) { return try call(found) }
    if word.allSatisfy(\.isHexDigit) {
      do throws(ClientError) { return try call(word) } catch {
        guard case .refused(.noSuchReport) = error else { throw error }
      }
    }
    for filter in filters(word, over: ReportFilter()) where filter.pid == nil {
      if let found = try newest(filter, of: client) { return try call(found) }
    }
    throw .refused(.noSuchReport(id: word))
  }

  /// Returns `base` with a filter for `word`, or nil if no report matches.
  public static func filter(
    _ word: String?, over base: ReportFilter, of client: CrashClient
  ) throws(ClientError) -> ReportFilter? {
    guard let word else { return base }
    for filter in filters(word, over: base) {
      if try newest(filter, of: client) != nil { return filter }
    }
    return nil
  }

  /// Returns whether a word is the beginning of the id of an incident, as lists show it; false if crashd does not
  /// answer.
  public static func isIncident(_ word: String, of client: CrashClient) -> Bool {
    guard word.contains(where: \.isHexDigit), word.allSatisfy({ $0.isHexDigit || $0 == "-" }) else { return false }
    return (try? client.incidents(id: word, limit: 1))?.isEmpty == false
  }

  /// Returns the id of the crash that preceded an unreported exit (the end of a process without a crash record).
  ///
  /// Returns nil if crashd has no report of the crash, or does not answer. The report of the exit is complete without
  /// this id.
  public static func crash(before exit: CrashReport, of client: CrashClient) -> String? {
    guard exit.death?.afterCrash == true else { return nil }
    let filter = ReportFilter(
      pid: exit.process.pid, executable: exit.process.executable, since: exit.process.startTime, until: exit.time)
    return (try? client.list(ListQuery(limit: 2, filter: filter)))?.first { $0.id != exit.id }?.id
  }

  /// Returns the possible meanings of a word as filters, the most likely meaning first.
  static func filters(_ word: String, over base: ReportFilter) -> [ReportFilter] {
    func with(_ change: (inout ReportFilter) -> Void) -> ReportFilter {
      var filter = base
      change(&filter)
      return filter
    }
    guard !word.isEmpty else { return [] }
    if word.contains("/") { return [with { $0.executable = word }] }
    var filters: [ReportFilter] = []
    if let pid = pid(word) { filters.append(with { $0.pid = pid }) }
    if let dot = word.lastIndex(of: "."), unitTypes.contains(String(word[word.index(after: dot)...])) {
      filters.append(with { $0.unit = word })
    }
    filters.append(with { $0.name = word })
    filters.append(with { $0.unit = word + ".service" })
    if word.allSatisfy(\.isHexDigit) { filters.append(with { $0.group = word.lowercased() }) }
    return filters
  }

  private static func pid(_ word: String) -> Int? {
    word.count <= pidDigits && word.allSatisfy { ("0"..."9").contains($0) } ? Int(word) : nil
  }

  private static func newest(_ filter: ReportFilter, of client: CrashClient) throws(ClientError) -> String? {
    try client.list(ListQuery(limit: 1, filter: filter)).first?.id
  }
}

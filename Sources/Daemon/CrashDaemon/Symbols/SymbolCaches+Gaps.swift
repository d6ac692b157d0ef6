import CrashSymbols

/// The reason why the symbols of a build are incomplete.
struct SymbolGap: Sendable, Equatable {
  /// The reason as text for reports, such as "no file was found that has its build id".
  var reason: String
  /// Whether the missing symbols can still arrive later.
  var mayFill = false
  /// Whether the build has function names but no line numbers, which is normal for system libraries.
  var isNamesOnly = false

  /// The symbols of the build were not read completely when the report was built.
  static let notReady = SymbolGap(reason: "its symbols were not ready in time", mayFill: true)
}

/// A stored report whose missing symbols can arrive later.
struct LateReport: Sendable, Hashable {
  var id: String
  /// The user ID of the crashed process.
  var user: UInt32
}

extension SymbolCaches {
  /// Returns the reasons why the symbols of the given builds are incomplete.
  ///
  /// The parameter `found` contains the caches that were found for `user`.
  func gaps(of buildIDs: some Collection<String>, _ found: [String: SymbolCache], for user: UInt32) -> [String:
    SymbolGap]
  {
    var gaps: [String: SymbolGap] = [:]
    for buildID in buildIDs { gaps[buildID] = gap(of: buildID, found[buildID], for: user) }
    return gaps
  }

  private func gap(of buildID: String, _ cache: SymbolCache?, for user: UInt32) -> SymbolGap? {
    if let cache {
      if cache.isIncomplete { return SymbolGap(reason: "part of its debug information cannot be read") }
      if cache.hasDebugInformation { return nil }
      let names = Self.names(buildID, user)
      // Exclude a partial cache, which was built just now and already includes installed debug files. For any other
      // cache, a pending job can still add line numbers from an installed debug file.
      if !cache.isPartial, names.contains(where: isPending) {
        return SymbolGap(reason: "its debug information was not ready in time", mayFill: true, isNamesOnly: true)
      }
      if names.contains(where: { isFetched($0) || isPending($0) && isWorthAsking($0) }) {
        let reason = "it has names only, and servers are being asked for its debug information"
        return SymbolGap(reason: reason, mayFill: true, isNamesOnly: true)
      }
      return SymbolGap(reason: "it has names only, and no debug information was found", isNamesOnly: true)
    }
    if configuration.program == nil { return SymbolGap(reason: "crash-analyse, which reads symbols, was not found") }
    let names = Self.names(buildID, user)
    if names.contains(where: isPending) { return .notReady }
    let refusal = names.compactMap { refusals[$0] }.first
    return SymbolGap(reason: refusal ?? "no file was found that has its build id")
  }

  /// Publishes the report in the stream `lateReports` when the missing symbols of the given builds have arrived.
  func remember(_ report: LateReport, until buildIDs: some Collection<String>) {
    let names = buildIDs.flatMap { Self.names($0, report.user) }.filter { isPending($0) || isFetched($0) }
    // Publish the report at once if its symbols have arrived since it was built.
    if names.isEmpty { lateContinuation.yield(report) }
    guard late.values.reduce(0, { $0 + $1.count }) < configuration.limits.lateReports else { return }
    for name in names { late[name, default: []].insert(report) }
  }

  /// Publishes the reports that wait for a cache, if the cache now exists.
  ///
  /// If a request to the debuginfod servers is pending for the build, the reports are published again after this
  /// request.
  func tellLate(_ name: CacheName) {
    if isPending(name) { return }
    let reports = isFetched(name) ? late[name] : late.removeValue(forKey: name)
    guard let reports, case .ready = entries[name] else { return }
    for report in reports { lateContinuation.yield(report) }
  }

  /// Publishes the reports that waited for the build's symbols, unless they also wait for another build's symbols.
  ///
  /// crashd requests the debug information of each library of a program from the debuginfod servers separately. If
  /// crashd published the report after each of these requests, subscribers would receive too many events.
  func tellFetched(_ name: CacheName) {
    if isPending(name) { return }
    for report in late.removeValue(forKey: name) ?? [] where !late.contains(where: { $0.value.contains(report) }) {
      lateContinuation.yield(report)
    }
  }

  /// Ends the stream `lateReports`.
  func endLate() { lateContinuation.finish() }

  /// Records the reason why a build has no symbol cache.
  func refuse(_ name: CacheName, because reason: String) {
    if refusals.count >= configuration.limits.openCaches { refusals = [:] }
    refusals[name] = reason
  }

  private func isPending(_ name: CacheName) -> Bool {
    if case .pending = entries[name] { true } else { false }
  }

  static func names(_ buildID: String, _ user: UInt32) -> [CacheName] {
    [CacheOwner.allUsers, .user(user)].map { CacheName(buildID: buildID, owner: $0) }
  }
}

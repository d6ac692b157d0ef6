import CrashReport
import CrashRing
import CrashStore
import CrashSymbols

// Lists a preliminary report of a crash. crashd lists this report while crash-analyse reads the symbols of the build.
extension CrashAnalysis {
  /// Lists a crash whose symbols are not available yet.
  ///
  /// All names come from existing symbol caches. crashd tested these names earlier, so it needs no child process that
  /// tests whether they can be demangled. If the store already has an earlier report of the crash, crashd lists that
  /// report instead.
  ///
  /// If the report would have too many frames, the threads that did not crash are omitted. If the crashed threads alone
  /// have too many frames, no preliminary report is listed.
  func showPreliminary(_ contents: RingContents, of process: AttachedProcess) async {
    let (ring, user) = (RingKey(process.facts), process.facts.peer.uid)
    guard preliminary.hasRoom(for: user, limits), let contents = sized(contents) else { return }
    let symbols = await symbolsAtHand(for: contents, user)
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.context = process.context
    builder.noteHistory()
    guard var report = builder.report(id: ring.id) else { return }
    report.isPreliminary = true
    // The group key stays empty, because a key computed without function names would differ from the key of the final
    // report.
    report.group = CrashReport.Group(key: "", title: "")
    report.otherGroups = nil
    // Preliminary reports stay in memory, so the list of requests, which can be long, is removed.
    report.inFlight?.requests = []
    // If the store cannot be read, no preliminary report is listed.
    guard let new = try? store.unstored([report]), !new.isEmpty else { return }
    preliminary.show(report, of: ring, limits)
  }

  /// Returns the contents reduced to the size of a preliminary report; nil if the crashed threads alone exceed this
  /// size.
  private func sized(_ contents: RingContents) -> RingContents? {
    let crashed = contents.records.reduce(0) { $0 + $1.frames.count }
    guard crashed <= limits.preliminaryFrames else { return nil }
    guard crashed + contents.threads.reduce(0, { $0 + $1.frames.count }) > limits.preliminaryFrames else {
      return contents
    }
    var smaller = contents
    smaller.losses["threadsTooLarge"] = contents.threads.count
    smaller.threads = []
    return smaller
  }

  private func symbolsAtHand(for contents: RingContents, _ user: UInt32) async -> OpenCaches {
    let wanted = contents.addressesOfFrames
    var symbols = OpenCaches(asked: wanted, gaps: wanted.mapValues { _ in .notReady })
    let ready = await caches.readyCaches(of: wanted.keys, for: user)
    var names: [String: Set<String>] = [:]
    for (buildID, cache) in ready {
      var one = OpenCaches(asked: wanted.filter { $0.key == buildID })
      one.caches[buildID] = cache
      names[buildID] = one.names
    }
    for (buildID, unreadable) in await caches.judge.judged(names) {
      symbols.caches[buildID] = ready[buildID]
      symbols.gaps[buildID] = nil
      symbols.unreadable.formUnion(unreadable)
    }
    return symbols
  }
}

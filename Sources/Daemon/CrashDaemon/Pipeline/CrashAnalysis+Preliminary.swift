import CrashReport
import CrashRing
import CrashStore
import CrashSymbols

// The first crash of a build: its preliminary report while its symbols are read.
extension CrashAnalysis {
  /// Lists a crash without the symbols that it waits for.
  ///
  /// Names come from existing caches, where each was checked before; no child runs. A crash with a stored earlier
  /// report is listed with that one.
  ///
  /// A report with too many frames is listed without the threads that did not crash, or not at all.
  func showPreliminary(_ contents: RingContents, of process: AttachedProcess) async {
    let (ring, user) = (RingKey(process.facts), process.facts.peer.uid)
    guard preliminary.hasRoom(for: user, limits), let contents = sized(contents) else { return }
    let symbols = await symbolsAtHand(for: contents, user)
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.context = process.context
    builder.noteHistory()
    guard var report = builder.report(id: ring.id) else { return }
    report.isPreliminary = true
    // Without names the group key would differ from the one of the same crash a moment later.
    report.group = CrashReport.Group(key: "", title: "")
    report.otherGroups = nil
    // If the store fails, nothing is listed.
    guard let new = try? store.unstored([report]), !new.isEmpty else { return }
    preliminary.show(report, of: ring, limits)
  }

  /// The contents reduced to the size of a preliminary report; nil where the crashed threads alone exceed it.
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

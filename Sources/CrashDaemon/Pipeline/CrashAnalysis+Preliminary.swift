import CrashReport
import CrashRing
import CrashStore
import CrashSymbols

// The first crash of a build: what is shown of it while its symbols are read.
extension CrashAnalysis {
  /// Shows what is known of a crash without the symbols that it waits for.
  ///
  /// Names come from caches that are ready, where each was judged before; no child runs for it. A crash of which an earlier
  /// report is stored shows that one.
  func showPreliminary(_ contents: RingContents, of process: AttachedProcess) async {
    let (ring, user) = (RingKey(process.facts), process.facts.peer.uid)
    guard preliminary.hasRoom(for: user, limits), !isStored(ring.id) else { return }
    let symbols = await symbolsAtHand(for: contents, user)
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.noteHistory()
    guard var report = builder.report(id: ring.id) else { return }
    report.isPreliminary = true
    // Without names the key would be another one than that of the same crash a moment later.
    report.group = CrashReport.Group(key: "", title: "")
    report.otherGroups = nil
    preliminary.show(report, of: ring, limits)
  }

  /// A store that does not answer has nothing to show.
  private func isStored(_ id: String) -> Bool { (try? store.report(idPrefix: id)) != nil }

  private func symbolsAtHand(for contents: RingContents, _ user: UInt32) async -> OpenCaches {
    let wanted = contents.addressesOfFrames
    var symbols = OpenCaches(asked: wanted, gaps: wanted.mapValues { _ in .notReady })
    for (buildID, cache) in await caches.readyCaches(of: wanted.keys, for: user) {
      var one = OpenCaches(asked: wanted.filter { $0.key == buildID })
      one.caches[buildID] = cache
      guard await caches.judge.knows(one.names) else { continue }
      symbols.caches[buildID] = cache
      symbols.gaps[buildID] = nil
    }
    symbols.unreadable = await caches.judge.unreadable(of: symbols.names)
    return symbols
  }
}

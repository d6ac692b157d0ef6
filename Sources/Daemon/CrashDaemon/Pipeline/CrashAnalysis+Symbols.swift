import CrashReport
import CrashRing
import CrashSymbols
import LinuxSystem

// The second step of a crash: the symbols of its frames.
extension CrashAnalysis {
  /// How often the frames may lead to new images while the symbols of the others are made.
  private static let symbolRounds = 4

  /// Finds the symbols of a snapshot, and takes what changes in the ring meanwhile into the snapshot.
  ///
  /// While symbols are made, the permit, the ring's pages and the snapshot's contents are released.
  @inline(never)
  func symbolicate(
    _ snapshot: inout Snapshot, of source: some CrashSource, _ permit: FairSemaphore.Permit
  ) async throws(SystemError) -> OpenCaches {
    let (process, user) = (source.process, source.process.facts.peer.uid)
    let question = SymbolQuestion(snapshot.contents)
    var symbols: OpenCaches
    if let ready = await caches.ready(question.wanted, question.images, for: user) {
      symbols = await openCaches(question, ready, for: user)
    } else {
      await showPreliminary(snapshot.contents, of: process)
      snapshot.contents.forgetAll()
      symbols = await process.ring.withoutPages {
        await permit.whileReleased { await openCaches(question, nil, for: user) }
      }
      snapshot.stamp = process.ring.stamp()
      snapshot.contents = read(process, isFinal: source.isFinal)
      snapshot.hasIncidents = snapshot.contents.hasObservations
    }
    // More threads may have crashed while the symbols were made, perhaps in other images. A process that goes on like
    // this is not followed for ever: its last frames have addresses then.
    for _ in 0..<Self.symbolRounds {
      // One stamp before the contents were read and after the copy: both are of one moment. A copy with more than the
      // report would hide what is new in it; of a copy with less the report could not be made anew.
      snapshot.raw = try excerpt(process)
      let after = process.ring.stamp()
      snapshot.isConsistent = after == snapshot.stamp && symbols.cover(snapshot.contents.addressesOfFrames)
      if snapshot.isConsistent { return symbols }
      snapshot.stamp = after
      snapshot.contents = read(process, isFinal: source.isFinal)
      if !symbols.cover(snapshot.contents.addressesOfFrames) {
        symbols = await openCaches(for: snapshot.contents, of: process)
      }
    }
    // Of one that never stands still, the report is made of what is stored beside it.
    if let copy = Reanalysis.process(ofOrphan: snapshot.raw) {
      snapshot.contents = read(copy, isFinal: source.isFinal)
    }
    return symbols
  }

  /// A ring that is not written any more, and the symbols of today for it.
  func openAgain(_ process: AttachedProcess) async -> (RingContents, OpenCaches) {
    let contents = read(process, isFinal: true)
    return (contents, await openCaches(for: contents, of: process))
  }

  func openCaches(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    await openCaches(SymbolQuestion(contents), nil, for: process.facts.peer.uid)
  }

  /// The symbols of today, as far as they need not be waited for.
  func openCachesThatAreThere(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    let wanted = contents.addressesOfFrames
    return await judged(wanted, await caches.answer(to: wanted, for: process.facts.peer.uid, timeout_ms: 0))
  }

  /// What the frames of a ring need.
  private struct SymbolQuestion: Sendable {
    var wanted: [String: Set<UInt64>]
    var images: [ImageFile]

    init(_ contents: RingContents) {
      let wanted = contents.addressesOfFrames
      self.wanted = wanted
      images = ImageFile.list(contents.images.filter { wanted[$0.buildID] != nil })
    }
  }

  // Waits for what is not `ready` without it.
  private func openCaches(
    _ question: SymbolQuestion, _ ready: SymbolCaches.Answer?, for user: UInt32
  ) async -> OpenCaches {
    let wanted = question.wanted
    let answer: SymbolCaches.Answer
    if let ready {
      answer = ready
    } else {
      await caches.prepare(question.images, for: user)
      answer = await caches.answer(to: wanted, for: user, timeout_ms: limits.symbolWait_ms)
    }
    return await judged(wanted, answer)
  }

  private func judged(_ wanted: [String: Set<UInt64>], _ answer: SymbolCaches.Answer) async -> OpenCaches {
    var open = OpenCaches(asked: wanted, caches: answer.caches, gaps: answer.gaps)
    open.unreadable = await caches.judge.unreadable(of: open.names)
    return open
  }

  /// What makes the report, and `old` made it before; with the variables of the place where a pointer was wrong.
  func builder(
    _ contents: RingContents, of process: AttachedProcess, _ symbols: OpenCaches, old: CrashReport? = nil,
    endSignal: Int32? = nil
  ) async -> ReportBuilder<OpenCaches> {
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    builder.noteHistory()
    builder.earlierField = old?.diagnosis.field
    builder.earlierDiagnosis = old?.diagnosis
    builder.endSignal = endSignal ?? old.map { Int32(clamping: $0.signal.number) }
    let (places, user) = (builder.placesToDescribe, process.facts.peer.uid)
    if let place = places.first, place.hasScope, let file = ImageFile.list([place.image]).first,
      let scope = await caches.scopes.scope(of: file, at: place.linkAddress, for: user)
    {
      builder.codeBefore = scope.codeBefore
      // Without debug information there is the code alone.
      if !scope.types.isEmpty { builder.scope = scope }
    }
    guard builder.needsNamedClasses else { return builder }
    builder.hasAllClasses = true
    // All of them may take as long as the slowest one may.
    let deadline = ContinuousClock.now + .milliseconds(limits.scope_ms)
    for place in places where builder.namedClasses.isEmpty {
      guard ContinuousClock.now < deadline, let file = ImageFile.list([place.image]).first,
        let found = await caches.scopes.classes(of: file, at: place.linkAddress, for: user)
      else {
        builder.hasAllClasses = false
        continue
      }
      builder.namedClasses = found
    }
    return builder
  }
}

extension RingContents {
  /// What takes room goes.
  fileprivate mutating func forgetAll() {
    (records, threads, images, incidents) = ([], [], [], [])
    (breadcrumbs, annotations, protectedClasses) = ([], [:], [])
  }
}

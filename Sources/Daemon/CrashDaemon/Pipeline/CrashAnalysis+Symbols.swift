import CrashReport
import CrashRing
import CrashSymbols
import LinuxSystem

// The second step of a crash: the symbols of its frames.
extension CrashAnalysis {
  /// How often the frames may lead to new images while the symbols of the others are built.
  private static let symbolRounds = 4

  /// Finds the symbols of a snapshot, and updates the snapshot with what the ring records meanwhile.
  ///
  /// The permit, the ring's pages and the snapshot's contents are released while symbols are built.
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
    // More threads may have crashed while symbols were built, perhaps in other images. The rounds are bounded: the last
    // frames of a process that continues to do so stay addresses.
    for _ in 0..<Self.symbolRounds {
      // The stamp is read before the contents and after the copy: equal stamps mean that both are from one moment. A
      // newer copy would hide its additional records; an older one could not reproduce the report.
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
    // A ring that keeps changing is reported from its stored copy.
    if let copy = Reanalysis.process(ofOrphan: snapshot.raw) {
      snapshot.contents = read(copy, isFinal: source.isFinal)
    }
    return symbols
  }

  /// A ring that is not written any more, and its current symbols.
  func openAgain(_ process: AttachedProcess) async -> (RingContents, OpenCaches) {
    let contents = read(process, isFinal: true)
    return (contents, await openCaches(for: contents, of: process))
  }

  func openCaches(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    await openCaches(SymbolQuestion(contents), nil, for: process.facts.peer.uid)
  }

  /// The current symbols that exist without waiting.
  func openCachesThatAreThere(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    let wanted = contents.addressesOfFrames
    return await judged(wanted, await caches.answer(to: wanted, for: process.facts.peer.uid, timeout_ms: 0))
  }

  /// The symbols that the frames of a ring need.
  private struct SymbolQuestion: Sendable {
    var wanted: [String: Set<UInt64>]
    var images: [ImageFile]

    init(_ contents: RingContents) {
      let wanted = contents.addressesOfFrames
      self.wanted = wanted
      images = ImageFile.list(contents.images.filter { wanted[$0.buildID] != nil })
    }
  }

  // Waits for the images that are not `ready`.
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

  /// The builder of the report, and the one with the earlier state; with the variables at the place of the bad pointer.
  func builder(
    _ contents: RingContents, of process: AttachedProcess, _ symbols: OpenCaches, old: CrashReport? = nil,
    endSignal: Int32? = nil
  ) async -> ReportBuilder<OpenCaches> {
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    // A report keeps what it says of that moment.
    builder.context = old.map { ProcessContext($0) } ?? process.context
    builder.noteHistory()
    builder.earlierField = old?.diagnosis.field
    builder.earlierDiagnosis = old?.diagnosis
    builder.endSignal = endSignal ?? old.map { Int32(clamping: $0.signal.number) }
    let (places, user) = (builder.placesToDescribe, process.facts.peer.uid)
    if let place = places.first, place.hasScope, let file = ImageFile.list([place.image]).first,
      let scope = await caches.scopes.scope(of: file, at: place.linkAddress, for: user)
    {
      builder.codeBefore = scope.codeBefore
      // Without debug information only the code is described.
      if !scope.types.isEmpty { builder.scope = scope }
    }
    guard builder.needsNamedClasses else { return builder }
    builder.hasAllClasses = true
    // One deadline for all of them.
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
  /// Drops the payload.
  fileprivate mutating func forgetAll() {
    (records, threads, images, incidents) = ([], [], [], [])
    (breadcrumbs, annotations, protectedClasses) = ([], [:], [])
  }
}

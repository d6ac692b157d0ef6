import CrashReport
import CrashRing
import CrashSymbols
import LinuxSystem

// Implements the second step of the analysis of a crash: finding the symbols of its frames.
extension CrashAnalysis {
  /// The maximum number of additional requests for symbols.
  ///
  /// Another request is needed if the process wrote new frames during the last request, and these frames are in images
  /// whose symbols are not loaded.
  private static let symbolRounds = 4

  /// Finds the symbols of a snapshot, and adds the records that the process wrote while the symbols were found.
  ///
  /// While the symbol caches are built, the permit, which limits concurrent readings of rings, is released, and the
  /// ring's pages and the snapshot's contents are freed. The requests in flight of the snapshot are kept if
  /// `waitingRequests` has room for them.
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
      let requestBytes = snapshot.requests?.memoryBytes ?? 0
      let areKept = waitingRequests.reserve(requestBytes, for: user, limits)
      defer { if areKept { waitingRequests.release(requestBytes, for: user, limits) } }
      if !areKept { snapshot.requests = nil }
      symbols = await process.ring.withoutPages {
        await permit.whileReleased { await openCaches(question, nil, for: user) }
      }
      snapshot.stamp = process.ring.stamp()
      snapshot.contents = read(process, isFinal: source.isFinal)
      snapshot.hasIncidents = snapshot.contents.hasObservations
    }
    // While the symbol caches were built, other threads could have crashed, possibly in other images. The number of
    // iterations is limited. If threads keep crashing, the report contains the frames of the last crashes as addresses
    // without names.
    for _ in 0..<Self.symbolRounds {
      // The ring's stamp was read before the contents, and is read again after the copy `raw` was made. Equal stamps
      // mean that the contents and the copy describe the same state of the ring. With different stamps, the copy could
      // contain more or fewer records than the report.
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
    // The ring changed during every reading, so the report is built from the stored copy.
    if let copy = Reanalysis.process(ofOrphan: snapshot.raw) {
      snapshot.contents = read(copy, isFinal: source.isFinal)
    }
    return symbols
  }

  /// Returns the contents of a ring to which no process writes any more, and their symbols.
  func openAgain(_ process: AttachedProcess) async -> (RingContents, OpenCaches) {
    let contents = read(process, isFinal: true)
    return (contents, await openCaches(for: contents, of: process))
  }

  func openCaches(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    await openCaches(SymbolQuestion(contents), nil, for: process.facts.peer.uid)
  }

  /// Returns the symbols that are available now, without waiting for caches that are being built.
  func openCachesThatAreThere(for contents: RingContents, of process: AttachedProcess) async -> OpenCaches {
    let wanted = contents.addressesOfFrames
    return await judged(wanted, await caches.answer(to: wanted, for: process.facts.peer.uid, timeout_ms: 0))
  }

  /// The images and addresses for which the frames of a ring need symbols.
  private struct SymbolQuestion: Sendable {
    var wanted: [String: Set<UInt64>]
    var images: [ImageFile]

    init(_ contents: RingContents) {
      let wanted = contents.addressesOfFrames
      self.wanted = wanted
      images = ImageFile.list(contents.images.filter { wanted[$0.buildID] != nil })
    }
  }

  // Opens the caches in `ready`, or waits for the caches if `ready` is nil.
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

  /// Returns a report builder, which continues the earlier report of the crash if there is one.
  ///
  /// The builder also receives the variables in scope where the program used an invalid pointer.
  func builder(
    _ contents: RingContents, of process: AttachedProcess, _ symbols: OpenCaches, old: CrashReport? = nil,
    endSignal: Int32? = nil
  ) async -> ReportBuilder<OpenCaches> {
    var builder = ReportBuilder(contents, process: process.facts, symbols: symbols)
    // An existing report keeps its context, because that context was recorded at the time of the crash.
    builder.context = old.map { ProcessContext($0) } ?? process.context
    builder.noteHistory()
    builder.earlierField = old?.diagnosis.field
    builder.earlierDiagnosis = old?.diagnosis
    builder.hasInterruptedDrain = old?.containment?.drain?.endedBy == .interrupted
    builder.endSignal = endSignal ?? old.map { Int32(clamping: $0.signal.number) }
    let (places, user) = (builder.placesToDescribe, process.facts.peer.uid)
    if let place = places.first, place.hasScope, let file = ImageFile.list([place.image]).first,
      let scope = await caches.scopes.scope(of: file, at: place.linkAddress, for: user)
    {
      builder.codeBefore = scope.codeBefore
      // Without debug information, the scope describes only code and has no types, so it is not used.
      if !scope.types.isEmpty { builder.scope = scope }
    }
    guard builder.needsNamedClasses else { return builder }
    builder.hasAllClasses = true
    // All requests for classes in this loop share one deadline.
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
  /// Removes the records, threads, images and incidents to free their memory.
  fileprivate mutating func forgetAll() {
    (records, threads, images, incidents) = ([], [], [], [])
    (breadcrumbs, annotations, protectedClasses) = ([], [:], [])
    (requests.running, requests.trapped) = ([], [])
  }
}

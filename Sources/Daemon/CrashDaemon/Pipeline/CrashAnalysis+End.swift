import CrashReport
import CrashRing
import CrashStore
import LinuxSystem
import Logging

// Handles the part of the analysis of a crash that must wait until the process has ended.
extension CrashAnalysis {
  /// The maximum number of attempts to store the rebuilt report.
  ///
  /// An attempt fails if another task changes the report between reading and storing it.
  private static let endAttempts = 4

  /// If several threads crashed, rebuilds the report so that the thread whose signal ended the process comes first.
  ///
  /// The rebuild needs as much memory as a reading of a ring. Therefore, it also takes one of the permits that limit
  /// concurrent readings. The rebuild uses the symbols that are available at that time. When further symbols arrive,
  /// another task adds them to the report.
  func noteEnd(_ ended: EndedProcess, report id: String) async {
    guard let signal = ended.end.signal else { return }
    let permit = await permits.enter(ended.process.facts.peer.uid)
    defer { permit.giveBack() }
    await complete("the signal that ended the process", of: id) { () async throws(StoreError) in
      try await noteEndOnce(ended.process, signal, report: id)
    }
  }

  /// Records, in the report of the trap that began a drain, that the process ended before the drain was complete.
  ///
  /// During a drain, a process that has trapped finishes its other requests.
  func noteInterruptedDrain(report id: String) async {
    await complete("the interrupted drain", of: id) { () async throws(StoreError) in
      let stored = try store.report(idPrefix: id)
      var report = try stored.report
      guard report.containment?.drain != nil, report.containment?.drain?.endedBy == nil, let raw = try store.raw(id: id)
      else { return }
      report.containment?.drain?.endedBy = .interrupted
      if try store.put(report, raw: raw, replacing: stored.cursor) != .unchanged { hub.notify() }
    }
  }

  /// Changes a stored report, and tries again if another task changes the report meanwhile.
  private func complete(_ what: String, of id: String, _ change: () async throws(StoreError) -> Void) async {
    for _ in 0..<Self.endAttempts {
      do throws(StoreError) {
        return try await change()
      } catch .changedMeanwhile {
        continue
      } catch .noSuchReport {
        // The report is not in the store: it is still in memory, or it was removed in the meantime.
        return
      } catch {
        // Do not log an outage of the store, because the store keeper logs it.
        if !error.isOutage {
          logger.warning("cannot record \(what) in report \(id): \(error), ignoring")
        }
        return
      }
    }
  }

  private func noteEndOnce(_ process: AttachedProcess, _ signal: Int32, report id: String) async throws(StoreError) {
    let stored = try store.report(idPrefix: id)
    let old = try stored.report
    guard old.death == nil, old.signal.number != signal,
      old.threads.contains(where: { $0.crashed && $0.signal?.number == Int(signal) }),
      let raw = try store.raw(id: id)
    else { return }
    let contents = read(process, isFinal: true)
    let symbols = await openCachesThatAreThere(for: contents, of: process)
    let builder = await builder(contents, of: process, symbols, old: old, endSignal: signal)
    guard var report = builder.report(id: id), report.signal.number == signal else { return }
    report.keepTimes(of: old)
    (report.timing, report.losses) = (old.timing, old.losses)
    report.unwinding = old.unwinding
    guard try store.put(report, raw: raw, replacing: stored.cursor) != .unchanged else { return }
    hub.notify()
    let late = symbols.gaps.filter { $0.value.mayFill }.keys
    if !late.isEmpty { await caches.remember(LateReport(id: id, user: process.facts.peer.uid), until: late) }
  }

  /// Stores a report of an unreported exit (an abnormal exit without a crash record), unless the process ended
  /// normally.
  ///
  /// A process that survived a crash and later ended for another reason gets two reports.
  func bury(_ ended: EndedProcess, hasCrashed: Bool = false) async -> Outcome {
    guard SilentDeath.isPossible(ended, hasCrashed: hasCrashed) else { return .nothingNew }
    return await permits.withPermit(for: ended.process.facts.peer.uid) { _ in
      await report(ended, hasCrashed: hasCrashed)
    }
  }

  @inline(never)
  private func report(_ ended: EndedProcess, hasCrashed: Bool) async -> Outcome {
    let process = ended.process
    let contents = read(process, isFinal: true)
    guard var death = SilentDeath(ended, losses: contents.losses, hasCrashed: hasCrashed) else {
      if ended.end == .unknown && !hasCrashed {
        ledger.lose(["end": 1], of: process.facts.peer, process: process.facts.identity.name)
      }
      return .nothingNew
    }
    let raw: [UInt8]
    do throws(SystemError) { raw = try excerpt(process) } catch { return notStored(process, error) }
    let time = Moment.now()
    if let unit = process.facts.unit, let signal = death.death.signal,
      let result = await units.of(unit: unit, pid: process.facts.peer.pid, signal: signal)
    {
      var known = death.death
      known.unitResult = result.word
      death = SilentDeath(known, losses: contents.losses)
    }
    let ring = AttachedRing(process: process, seen: nil, isFinal: true)
    var builder = ReportBuilder(contents, process: process.facts, symbols: OpenCaches())
    builder.context = process.endContext
    builder.noteHistory()
    do {
      let (id, place) = try put(raw, of: ring, isSecond: hasCrashed) { builder.report(id: $0, of: death, at: time) }
      let seen = Seen(contents)
      return place == .store ? .stored(id: id, seen: seen) : .held(id: id, seen: seen)
    } catch {
      return notStored(process, error)
    }
  }
}

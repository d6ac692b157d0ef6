import CrashReport
import CrashRing
import CrashSymbols
import Glibc
import LinuxSystem
import Logging
import Synchronization

/// Runs unwind cross-checks.
///
/// A cross-check unwinds crashed threads again, outside the crashed process and with independent code.
///
/// The program `crash-analyse` does this: it runs libunwind with the recorded registers and the recorded copy of the
/// stack.
actor SnapshotUnwinder {
  let tables: UnwindTables
  private let configuration: SymbolCaches.Configuration
  /// Limits how many cross-checks run at the same time.
  ///
  /// The property is nonisolated, so that callers need not wait for the actor if many processes crash at once.
  private nonisolated let permits: FairSemaphore
  /// Limits how many reports are allowed to wait for unwind tables and for one of `permits`.
  ///
  /// A report for which this semaphore has no free permit is not cross-checked.
  private nonisolated let admissions: FairSemaphore
  private nonisolated let skipped = Atomic(0)
  private var counts: [String: Int] = [:]

  init(_ configuration: SymbolCaches.Configuration) {
    self.configuration = configuration
    tables = UnwindTables(configuration)
    let limits = configuration.limits
    permits = FairSemaphore(PermitLimit(total: limits.unwinds), limits.accounts)
    admissions = FairSemaphore(
      PermitLimit(total: limits.unwinds + limits.waitingUnwinds, perUser: limits.unwindsPerUser), limits.accounts)
  }

  /// The numbers of results since crashd started.
  ///
  /// The dictionary counts threads by how far the stacks of both unwinders agree (`equal`, `different`, …), threads
  /// whose cross-check `failed`, and reports whose cross-check was `skipped`.
  var findings: [String: Int] {
    let skipped = skipped.load(ordering: .relaxed)
    return skipped == 0 ? counts : counts.merging(["skipped": skipped]) { $1 }
  }

  /// The number of cross-checks that wait for a permit.
  nonisolated var waitingCount: Int { permits.waitingCount }

  /// The result of an unwind cross-check.
  struct Outcome: Sendable {
    /// The contents of the ring, in which libunwind's frames have replaced the signal handler's frames where
    /// libunwind's frames are better.
    var contents: RingContents
    /// One result of the comparison for each thread that was unwound again.
    var findings: [CrashReport.Unwinding]

    var isBetter: Bool { findings.contains { $0.shown == .snapshot } }
  }

  /// The error that is thrown if no permit is free and the caller did not ask to wait.
  struct Busy: Error {}

  /// Returns the images whose unwind tables the cross-check of a ring possibly needs.
  ///
  /// Returns nil if the ring has no copy of a stack, and therefore nothing to unwind again.
  static func images(of contents: RingContents) -> [ImageFile]? {
    UnwindQuestion(contents).map { ImageFile.list($0.images) }
  }

  /// Whether the limits allow another cross-check to begin for a user.
  ///
  /// If the result is false, this function counts the cross-check as skipped.
  nonisolated func isOpen(for user: UInt32) -> Bool {
    if configuration.program == nil || admissions.hasRoom(for: user) { return true }
    skipped.add(1, ordering: .relaxed)
    return false
  }

  /// Unwinds the crashed threads of a ring again, and waits for a permit.
  ///
  /// Returns nil if the cross-check fails, and counts the failure. Also returns nil if the ring has no copy of a stack,
  /// which is not counted.
  func unwind(_ contents: RingContents, for user: UInt32) async -> Outcome? {
    guard let images = Self.images(of: contents) else { return nil }
    return await unwind(with: images, for: user) { contents }
  }

  /// Unwinds the crashed threads of a ring again, and either waits for a permit or throws.
  ///
  /// If no permit is free, this method waits if `waits` is true, and throws otherwise.
  func unwind(_ contents: RingContents, for user: UInt32, waits: Bool) async throws(Busy) -> Outcome? {
    // Do not count this cross-check as skipped, because the caller can try again.
    if !waits, configuration.program != nil, Self.images(of: contents) != nil,
      !(admissions.hasRoom(for: user) && permits.hasRoom(for: user))
    {
      throw Busy()
    }
    return await unwind(contents, for: user)
  }

  /// Unwinds the crashed threads of a ring again, and reads the ring as late as possible.
  ///
  /// The method reads the ring only when a permit is free and no ring waits for its first reading. Until then, the
  /// method holds only the list `images` in memory.
  func unwind(
    with images: [ImageFile], for user: UInt32, after looks: FairSemaphore? = nil, read: @Sendable () -> RingContents
  ) async -> Outcome? {
    guard let program = configuration.program else { return nil }
    guard let admission = admissions.enterIfFree(user) else {
      skipped.add(1, ordering: .relaxed)
      return nil
    }
    defer { admission.giveBack() }
    // For an attached process, the unwind tables already exist or are being extracted. For a ring from the spool, it is
    // possible that the unwind tables were never extracted. While this task waits for the tables, it holds no permit.
    await tables.prepare(images, for: user)
    await tables.settle(Set(images.map(\.buildID)), for: user, timeout_ms: configuration.limits.unwindTablesWait_ms)
    // Let other crashes be read first: they are more urgent than this cross-check, whose report is already stored.
    let limits = configuration.limits
    await looks?.calm(quiet_ms: limits.unwindQuiet_ms, patience_ms: limits.unwindPatience_ms)
    let permit = await permits.enter(user)
    guard permit.isHeld else {
      skipped.add(1, ordering: .relaxed)
      return nil
    }
    defer { permit.giveBack() }
    let contents = read()
    guard let question = UnwindQuestion(contents) else { return nil }
    let files = await tables.files(of: Set(question.images.map(\.buildID)), for: user)
    do {
      let answer = try await ask(question, files, program)
      return judge(contents, question, answer)
    } catch {
      counts["failed", default: 0] += question.records.count
      configuration.ledger.refuse("unwinding", from: Peer(pid: 0, uid: user), because: "\(error)")
      return nil
    }
  }

  /// Waits at most two seconds for running cross-checks, and cancels all cross-checks that wait.
  func stop() async {
    admissions.stop()
    permits.stop()
    await tables.stop()
  }

  private func judge(_ contents: RingContents, _ question: UnwindQuestion, _ answer: UnwindAnswer) -> Outcome {
    var outcome = Outcome(contents: contents, findings: [])
    for (record, stack) in zip(question.records, answer.stacks) {
      let comparison = StackComparison(record, stack, contents.images)
      counts[comparison.agreement.rawValue, default: 0] += 1
      outcome.findings.append(comparison.finding)
      guard comparison.shown == .snapshot,
        let index = contents.records.firstIndex(where: { $0.slot == record.slot && $0.generation == record.generation })
      else { continue }
      outcome.contents.records[index] = comparison.better
    }
    return outcome
  }

  /// Runs the child process on a dedicated thread, because the thread blocks until the child ends.
  private func ask(
    _ question: UnwindQuestion, _ files: [String: Descriptor], _ program: String
  ) async throws -> UnwindAnswer {
    let limits = configuration.limits
    return try await withCheckedThrowingContinuation { continuation in
      do {
        try Thread.start(named: "unwind") {
          continuation.resume(
            with: Result { try Self.answer(to: question, files, program, limits) })
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  private static func answer(
    to question: UnwindQuestion, _ files: [String: Descriptor], _ program: String, _ limits: Limits
  ) throws -> UnwindAnswer {
    let request = try question.request(tables: files, limitBytes: limits.unwindRequestBytes)
    // The output file has a fixed size, so that a compromised child cannot use up memory.
    let output = try MemoryFile(size: UnwindAnswer.limitBytes)
    try output.seal()
    try HelperChild(program: program, arguments: ["unwind"], timeout_ms: limits.unwind_ms)
      .run(input: request.descriptor, output: output.descriptor)
    let bytes = try output.read(limitBytes: UnwindAnswer.limitBytes)
    guard let answer = UnwindAnswer(bytes, threads: question.records.count) else {
      throw HelperChild.Failure(description: "its output is not a valid answer")
    }
    return answer
  }
}

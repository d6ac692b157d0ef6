import CrashReport
import CrashRing
import CrashUnwinding
import Glibc
import Logging

/// Unwinds crashed threads a second time, outside of the dying process and with other code: `crash-analyse` runs
/// libunwind over the registers and the copy of the stack.
actor SnapshotUnwinder {
  let tables: UnwindTables
  private let configuration: SymbolCaches.Configuration
  private var running = 0
  private var waiting: [CheckedContinuation<Void, Never>] = []
  private var counts: [String: Int] = [:]

  init(_ configuration: SymbolCaches.Configuration) {
    self.configuration = configuration
    tables = UnwindTables(configuration)
  }

  /// What came of the unwindings of threads since crashd started, by kind: the agreements, and `failed`, `skipped`.
  var findings: [String: Int] { counts }

  /// What a second unwinding led to.
  struct Outcome: Sendable {
    /// Those of the ring, with the better frames.
    var contents: RingContents
    /// One for each thread that was unwound.
    var findings: [CrashReport.Unwinding]

    var isBetter: Bool { findings.contains { $0.shown == .snapshot } }
  }

  /// Unwinds the crashed threads of a ring again; nil when that cannot be done, which is counted unless there is no
  /// copy of a stack.
  func unwind(_ contents: RingContents, for user: UInt32) async -> Outcome? {
    guard let program = configuration.program, let question = UnwindQuestion(contents) else { return nil }
    guard await begin() else {
      counts["skipped", default: 0] += question.records.count
      return nil
    }
    defer { end() }
    let limits = configuration.limits
    // Those of an attached process are there, or under way; those of a spooled ring may be made now.
    await tables.prepare(ImageFile.list(question.images), for: user)
    let files = await tables.files(
      of: Set(question.images.map(\.buildID)), for: user, timeout_ms: limits.unwindTablesWait_ms)
    do {
      let answer = try await ask(question, files, program)
      return judge(contents, question, answer)
    } catch {
      counts["failed", default: 0] += question.records.count
      configuration.ledger.refuse("unwinding", from: Peer(pid: 0, uid: user), because: "\(error)")
      return nil
    }
  }

  private func judge(_ contents: RingContents, _ question: UnwindQuestion, _ answer: UnwindAnswer) -> Outcome {
    var outcome = Outcome(contents: contents, findings: [])
    for (record, stack) in zip(question.records, answer.stacks) {
      let comparison = StackComparison(record, stack)
      counts[comparison.agreement.rawValue, default: 0] += 1
      outcome.findings.append(comparison.finding)
      guard comparison.shown == .snapshot,
        let index = contents.records.firstIndex(where: { $0.slot == record.slot && $0.generation == record.generation })
      else { continue }
      outcome.contents.records[index] = comparison.better(in: contents.images)
    }
    return outcome
  }

  /// Runs the child on a thread of its own, which waits for it in the kernel.
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
    // Of a fixed size: a child that somebody has taken over cannot fill the memory.
    let output = try MemoryFile(size: UnwindAnswer.limitBytes)
    try output.seal()
    try AnalyseChild(program: program, arguments: ["unwind"], timeout_ms: limits.unwind_ms)
      .run(input: request.descriptor, output: output.descriptor)
    let bytes = try output.read(limitBytes: UnwindAnswer.limitBytes)
    guard let answer = UnwindAnswer(bytes, threads: question.records.count) else {
      throw AnalyseChild.Failure(description: "what it wrote is no answer")
    }
    return answer
  }

  /// Waits for a free place; false when too many wait already.
  private func begin() async -> Bool {
    if running < configuration.limits.unwinds {
      running += 1
      return true
    }
    guard waiting.count < configuration.limits.waitingUnwinds else { return false }
    await withCheckedContinuation { waiting.append($0) }
    return true
  }

  /// Hands the place on to the one that has waited longest.
  private func end() {
    if waiting.isEmpty { running -= 1 } else { waiting.removeFirst().resume() }
  }
}

import CrashSymbols
import Glibc
import LinuxSystem
import Logging

/// Decides which linkage names crashd is allowed to demangle in its own process.
///
/// A sandboxed child process demangles each name first. If a name does not crash the child, crashd is allowed to
/// demangle it.
///
/// The check is necessary because the names come from untrusted files, and a bug in the demangler could crash crashd.
actor NameJudge {
  /// What a child answered.
  private struct Answer {
    /// The names that the child checked.
    var verdicts: [(name: String, isReadable: Bool)] = []
    /// The name at which the child stopped, if it took too long or was killed.
    var late: String?
  }

  private let configuration: SymbolCaches.Configuration
  /// The results of earlier checks: whether each name is safe to demangle.
  ///
  /// The results are cached, so that a program that crashes repeatedly needs only one child process.
  private var known: [String: Bool] = [:]
  private var knownBytes = 0
  /// The names for which a child took too long, each with the number of counted time-outs.
  ///
  /// A further time-out counts only if it occurs at or after the time `next`. Therefore, children that run at the same
  /// time count once.
  private var late: [String: (count: Int, next: ContinuousClock.Instant)] = [:]

  init(_ configuration: SymbolCaches.Configuration) { self.configuration = configuration }

  /// Returns the names that crashd must not demangle.
  ///
  /// The method can run a child process.
  func unreadable(of names: Set<String>) async -> Set<String> {
    let mangled = names.filter(Demangler.isMangled)
    let fresh = mangled.filter { known[$0] == nil }.sorted()
    if let program = configuration.program, !fresh.isEmpty {
      do {
        keep(try await ask(fresh, program))
      } catch {
        configuration.logger.warning("cannot check names: \(error), showing the mangled names")
      }
    }
    return mangled.filter { known[$0] != true }
  }

  /// Returns the names that crashd must not demangle, for each build.
  ///
  /// A build is omitted from the result if one of its names was not checked yet. This method never waits for a child
  /// process.
  func judged(_ namesOfBuilds: [String: Set<String>]) -> [String: Set<String>] {
    var judged: [String: Set<String>] = [:]
    for (build, names) in namesOfBuilds {
      let mangled = names.filter(Demangler.isMangled)
      if mangled.allSatisfy({ known[$0] != nil }) { judged[build] = mangled.filter { known[$0] != true } }
    }
    return judged
  }

  private func keep(_ answer: Answer) {
    var verdicts = answer.verdicts
    let now = ContinuousClock.now
    if let name = answer.late, late[name].map({ now >= $0.next }) ?? true {
      if late.count >= 1_000 { late = [:] }
      let count = (late[name]?.count ?? 0) + 1
      late[name] = (count, now + .milliseconds(configuration.limits.judgeNames_ms))
      // On a busy machine, a child can time out at any name. Only a hostile name stops each child. Therefore, a name
      // counts as unsafe only after several time-outs.
      if count == configuration.limits.judgeNameTries { verdicts.append((name, false)) }
    }
    if knownBytes >= configuration.limits.judgedNamesBytes { (known, knownBytes) = ([:], 0) }
    for (name, isReadable) in verdicts {
      known[name] = isReadable
      knownBytes += name.utf8.count
      late[name] = nil
    }
  }

  /// Runs the child process on a dedicated thread, because the thread blocks until the child ends.
  private func ask(_ names: [String], _ program: String) async throws -> Answer {
    let configuration = configuration
    return try await withCheckedThrowingContinuation { continuation in
      do {
        try Thread.start(named: "names") {
          continuation.resume(with: Result { try Self.verdicts(on: names, program, configuration) })
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Returns what the child answers.
  ///
  /// A later report asks again for the names that the child did not check.
  private static func verdicts(
    on names: [String], _ program: String, _ configuration: SymbolCaches.Configuration
  ) throws -> Answer {
    let limits = configuration.limits
    var text: [UInt8] = []
    var sent: [String] = []
    for name in names where text.count + name.utf8.count < limits.judgedNamesBytes {
      text += name.utf8
      text.append(0)
      sent.append(name)
    }
    if sent.isEmpty { return Answer() }
    let input = try MemoryFile()
    try input.write(text, at: 0)
    try input.seal(staysWritable: false)
    // The output file has a fixed size, so that a compromised child cannot use up memory.
    let output = try MemoryFile(size: sent.count)
    try output.seal()
    var failure: HelperChild.Failure?
    do {
      try HelperChild(program: program, arguments: ["check-names"], timeout_ms: limits.judgeNames_ms)
        .run(input: input.descriptor, output: output.descriptor)
    } catch let error as HelperChild.Failure {
      configuration.logger.warning("cannot check all names: \(error), showing some mangled names")
      failure = error
    }
    let verdicts = try output.read(limitBytes: sent.count)
    var answer = Answer(verdicts: zip(sent, verdicts).map { (name: $0, isReadable: $1 == 1) })
    if let failure, let unchecked = verdicts.firstIndex(of: 0), unchecked < sent.count {
      let status = failure.status ?? 128 + SIGKILL
      // If a signal other than SIGKILL ended the child, the name that the child was demangling caused the signal.
      // Therefore, this name counts as checked, too.
      let checkedCount = status > 128 && status != 128 + SIGKILL ? unchecked + 1 : unchecked
      answer.verdicts.removeSubrange(checkedCount...)
      if status == 128 + SIGKILL { answer.late = sent[unchecked] }
    }
    return answer
  }
}

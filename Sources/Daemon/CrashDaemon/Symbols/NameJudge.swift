import CrashSymbols
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
    /// The name after these, if the child took too long.
    var late: String?
  }

  private let configuration: SymbolCaches.Configuration
  /// The results of earlier checks: whether each name is safe to demangle.
  ///
  /// The results are cached, so that a program that crashes repeatedly needs only one child process.
  private var known: [String: Bool] = [:]
  private var knownBytes = 0
  /// The names for which a child took too long, each with the number of times.
  private var late: [String: Int] = [:]

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
    if let name = answer.late {
      if late.count >= 1_000 { late = [:] }
      late[name, default: 0] += 1
      // A busy machine stops a child at any name. A hostile name stops each child.
      if late[name] == configuration.limits.judgeNameTries { verdicts.append((name, false)) }
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
    let checkedCount = failure.map { count(of: verdicts, before: $0) } ?? sent.count
    let isLate = failure != nil && failure?.status == nil && checkedCount < sent.count
    return Answer(
      verdicts: zip(sent, verdicts).prefix(checkedCount).map { (name: $0, isReadable: $1 == 1) },
      late: isLate ? sent[checkedCount] : nil)
  }

  /// Returns the number of names that the child checked before it failed.
  ///
  /// The output has 0 for a name that was not checked, and for a name whose demangled text is too long. Therefore, only
  /// the names up to the last 1 were certainly checked. If a signal ended the child, the next name can have caused the
  /// signal, and counts as checked. If the child took too long, the next name need not be the cause: crashd or the
  /// child can have waited for a processor.
  private static func count(of verdicts: [UInt8], before failure: HelperChild.Failure) -> Int {
    let answeredCount = verdicts.lastIndex(of: 1).map { $0 + 1 } ?? 0
    return answeredCount + ((failure.status ?? 0) > 128 ? 1 : 0)
  }
}

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
  private let configuration: SymbolCaches.Configuration
  /// The results of earlier checks: whether each name is safe to demangle.
  ///
  /// The results are cached, so that a program that crashes repeatedly needs only one child process.
  private var known: [String: Bool] = [:]
  private var knownBytes = 0

  init(_ configuration: SymbolCaches.Configuration) { self.configuration = configuration }

  /// Returns the names that crashd must not demangle.
  ///
  /// The method can run a child process.
  func unreadable(of names: Set<String>) async -> Set<String> {
    let mangled = names.filter(Demangler.isMangled)
    let fresh = mangled.filter { known[$0] == nil }.sorted()
    if let program = configuration.program, !fresh.isEmpty {
      do {
        keep(fresh, try await ask(fresh, program))
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

  private func keep(_ names: [String], _ verdicts: [UInt8]) {
    if knownBytes >= configuration.limits.judgedNamesBytes { (known, knownBytes) = ([:], 0) }
    for (name, verdict) in zip(names, verdicts) {
      known[name] = verdict == 1
      knownBytes += name.utf8.count
    }
  }

  /// Runs the child process on a dedicated thread, because the thread blocks until the child ends.
  private func ask(_ names: [String], _ program: String) async throws -> [UInt8] {
    let (timeout_ms, limitBytes) = (configuration.limits.judgeNames_ms, configuration.limits.judgedNamesBytes)
    return try await withCheckedThrowingContinuation { continuation in
      do {
        try Thread.start(named: "names") {
          continuation.resume(with: Result { try Self.verdicts(on: names, program, timeout_ms, limitBytes) })
        }
      } catch {
        continuation.resume(throwing: error)
      }
    }
  }

  /// Returns the result of the child for each name.
  ///
  /// The result is 0 for names that the child had not demangled before it ended.
  private static func verdicts(
    on names: [String], _ program: String, _ timeout_ms: Int, _ limitBytes: Int
  ) throws -> [UInt8] {
    var text: [UInt8] = []
    for name in names where text.count + name.utf8.count < limitBytes {
      text += name.utf8
      text.append(0)
    }
    let input = try MemoryFile()
    try input.write(text, at: 0)
    try input.seal(staysWritable: false)
    // The output file has a fixed size, so that a compromised child cannot use up memory.
    let output = try MemoryFile(size: names.count)
    try output.seal()
    do {
      try HelperChild(program: program, arguments: ["check-names"], timeout_ms: timeout_ms)
        .run(input: input.descriptor, output: output.descriptor)
    } catch is HelperChild.Failure {
      // The child crashed while it demangled one of the names. The results for the names before this name are valid.
    }
    return try output.read(limitBytes: names.count)
  }
}

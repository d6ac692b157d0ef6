import CrashSymbols
import LinuxSystem
import Logging

/// Says which linkage names crashd may write out itself: those that a confined process has written out before.
///
/// Names stand in caches, and a cache is only as good as the process that wrote it, which had read a hostile file.
actor NameJudge {
  private let configuration: SymbolCaches.Configuration
  /// What was judged, so that a program that crashes again and again costs one process.
  private var known: [String: Bool] = [:]
  private var knownBytes = 0

  init(_ configuration: SymbolCaches.Configuration) { self.configuration = configuration }

  /// Those of the names that are better shown as they are.
  func unreadable(of names: Set<String>) async -> Set<String> {
    let mangled = names.filter(Demangler.isMangled)
    let fresh = mangled.filter { known[$0] == nil }.sorted()
    if let program = configuration.program, !fresh.isEmpty {
      do {
        keep(fresh, try await ask(fresh, program))
      } catch {
        configuration.logger.warning("cannot check names: \(error), showing them as they are")
      }
    }
    return mangled.filter { known[$0] != true }
  }

  /// Of the builds whose names were all judged before: those names that are better shown as they are.
  ///
  /// Waits for nothing.
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

  /// Runs the child on a thread of its own, which waits for it in the kernel.
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

  /// A verdict for each name; 0 for those that the child did not come to.
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
    // Of a fixed size: a child that was taken over cannot fill the memory.
    let output = try MemoryFile(size: names.count)
    try output.seal()
    do {
      try HelperChild(program: program, arguments: ["check-names"], timeout_ms: timeout_ms)
        .run(input: input.descriptor, output: output.descriptor)
    } catch is HelperChild.Failure {
      // One of the names has ended it; what it said before stands.
    }
    return try output.read(limitBytes: names.count)
  }
}

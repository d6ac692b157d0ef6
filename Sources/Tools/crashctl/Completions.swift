import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport
import LinuxSystem

/// Provides values for shell completion.
///
/// If crashd cannot be reached, the list is empty, because a completion cannot report errors.
enum Completions {
  private typealias Value = (value: String, about: String)

  private static let most = 100

  /// Formats values for the current shell.
  ///
  /// zsh and fish show descriptions. bash would insert the descriptions, so it receives only values.
  private static func lines(_ values: [Value]) -> [String] {
    values.map { value, about in
      // Shells expand completions, and crashd's reply is untrusted input. Therefore only the plain characters of
      // descriptions are printed.
      let about = about.filter { $0.isLetter || $0.isNumber || " .,()+-_#×".contains($0) }
      if about.isEmpty { return value }
      if CompletionShell.requesting == .zsh { return value.replacing(":", with: "\\:") + ":" + about }
      return CompletionShell.requesting == .fish ? "\(value)\t\(about)" : value
    }
  }

  /// Requests values from crashd, and returns the values that begin with the typed prefix, without duplicates.
  private static func ask(
    _ prefix: String, _ call: (CrashClient) throws(ClientError) -> [Value]
  ) -> [String] {
    let path = SocketPath.find(option: nil, environment: processEnvironment())
    do throws(ClientError) {
      let found = try call(CrashClient(socketPath: path, timeout: .seconds(1)))
      var seen: Set<String> = []
      return lines(
        found.filter { value, _ in
          !value.isEmpty && value.hasPrefix(prefix) && value.allSatisfy(isPlain) && seen.insert(value).inserted
        })
    } catch {
      return []
    }
  }

  private static func isPlain(_ character: Character) -> Bool {
    character.isASCII && (character.isLetter || character.isNumber || "._-/@+".contains(character))
  }

  private static func recent(_ client: CrashClient) throws(ClientError) -> [ReportSummary] {
    try client.list(ListQuery(limit: most))
  }

  private static func about(_ summary: ReportSummary) -> String {
    let what = summary.function.isEmpty ? summary.signal : summary.function
    return "\(Clock().age(summary.time)) ago, \(summary.name), \(what)"
  }

  // MARK: Values from crashd

  /// The ids of the newest reports, with their age, program and function as descriptions.
  @Sendable static func reports(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try recent(client).map { Value(value: String($0.id.prefix(12)), about: about($0)) }
    }
  }

  /// The completions for the argument of `list`: programs, then pids.
  @Sendable static func matches(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      let recent = try recent(client)
      let names: [Value] = recent.map { Value(value: $0.name, about: "program") }
      let pids: [Value] = recent.map { Value(value: "\($0.pid)", about: about($0)) }
      return names + pids
    }
  }

  @Sendable static func names(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try recent(client).map { Value(value: $0.name, about: $0.executable) }
    }
  }

  @Sendable static func pids(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      let running: [Value] = try client.processes().map { Value(value: "\($0.pid)", about: $0.name) }
      let crashed: [Value] = try recent(client).map { Value(value: "\($0.pid)", about: about($0)) }
      return running + crashed
    }
  }

  @Sendable static func units(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try recent(client).map { Value(value: $0.unit ?? "", about: $0.name) }
    }
  }

  @Sendable static func groups(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try client.groups(limit: most).map { Value(value: String($0.key.prefix(12)), about: "\($0.count)× \($0.title)") }
    }
  }

  @Sendable static func incidents(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try client.incidents(limit: most).map {
        Value(value: $0.id, about: "\(Clock().age($0.last)) ago, \($0.sentence)")
      }
    }
  }

  /// The programs that have a protection policy.
  @Sendable static func programs(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try client.danglingPolicies().map { Value(value: $0.name, about: $0.program) }
    }
  }

  /// The builds that crashd has seen, newest first, by release or build id.
  @Sendable static func builds(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      try client.health().builds.reversed().map { build in
        Value(
          value: build.release ?? String(build.build.prefix(12)),
          about: "\(build.program), first seen \(Clock().age(build.firstSeen)) ago")
      }
    }
  }

  /// The classes that are protected, excluded from protection, or reported by attached processes.
  @Sendable static func classes(_ words: [String], _ index: Int, _ prefix: String) -> [String] {
    ask(prefix) { client throws(ClientError) in
      var found: [Value] = []
      for policy in try client.danglingPolicies() {
        found += policy.classes.map { Value(value: $0.name, about: "protected in \(policy.name)") }
        found += policy.releasedClasses.map { Value(value: $0, about: "never protected in \(policy.name)") }
      }
      found += try client.danglingClasses().map { Value(value: $0.figures.className, about: $0.process) }
      return found
    }
  }

  // MARK: Fixed values

  static var json: [String] {
    lines([("pretty", "indented"), ("short", "one line per value"), ("off", "text for people")])
  }

  static var signals: [String] {
    lines([
      ("SIGILL", "Swift trap on x86-64, or an illegal instruction"),
      ("SIGTRAP", "Swift trap on AArch64, or a breakpoint"), ("SIGSEGV", "bad access"),
      ("SIGBUS", "bad access to a mapping"), ("SIGABRT", "abort, fatal error of a runtime"),
      ("SIGFPE", "arithmetic"), ("SIGSYS", "blocked system call"), ("SIGKILL", "killed, possibly out of memory"),
    ])
  }

  static var orders: [String] {
    lines([("last", "seen last"), ("first", "first seen most recently"), ("count", "crashed most often")])
  }

  static var states: [String] {
    lines([
      ("new", "first seen in the newest of several builds"), ("open", "neither new, resolved nor regressed"),
      ("resolved", "marked as fixed"), ("regressed", "crashed again after it was resolved"), ("all", "in any state"),
    ])
  }

  static var formats: [String] {
    lines([
      ("text", "for people"), ("json", "as crashd stores it"), ("apple", "a .crash file"),
      ("html", "one self-contained page"), ("minidump", "for debuggers and services"),
    ])
  }

  static var kinds: [String] { lines([("all", "all kinds")] + GuardKinds.names.map { ($0, "") }) }

  static var modes: [String] {
    lines([
      ("absorb", "record, then return the documented value"), ("observe", "record, then behave as without the guard"),
      ("off", "behave as without the guard"), ("program", "remove the override"),
    ])
  }

  static var policies: [String] {
    lines([
      ("absorb", "delay deinit"), ("zero", "deinit at once, calls return zero"),
      ("diagnose", "deinit at once, poison"),
    ])
  }
}

import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

/// The options that filter crashes.
struct FilterOptions: ParsableArguments {
  @OptionGroup var period: PeriodOptions

  @Option(help: "Only crashes of this process", completion: .custom(Completions.pids))
  var pid: Int?

  @Option(help: "Only crashes of programs whose name contains this", completion: .custom(Completions.names))
  var name: String?

  @Option(
    help: ArgumentHelp("Only crashes of executables whose path contains this", valueName: "path"),
    completion: .file())
  var exe: String?

  @Option(
    name: [.customShort("u"), .long],
    help: ArgumentHelp("Only crashes in this systemd unit (default suffix: .service)", valueName: "name"),
    completion: .custom(Completions.units), transform: { $0.contains(".") ? $0 : $0 + ".service" })
  var unit: String?

  @Option(
    help: ArgumentHelp("Only crashes by this signal, such as SIGSEGV, segv or 11", valueName: "signal"),
    completion: .custom { _, _, _ in Completions.signals }, transform: signalName)
  var signal: String?

  @Option(help: "Only crashes of the group whose key begins with this", completion: .custom(Completions.groups))
  var group: String?

  @Option(help: ArgumentHelp("Only crashes of this release, such as shop@2.4.1", valueName: "name"))
  var release: String?

  @Option(help: ArgumentHelp("Only crashes in this environment, such as production", valueName: "name"))
  var environment: String?

  @Option(
    name: .customLong("tag"),
    help: ArgumentHelp("Only crashes with this tag; may be repeated", valueName: "key=value"),
    transform: tagText)
  var tags: [String] = []

  @Option(help: ArgumentHelp("Only crashes in this Kubernetes pod, by its name or uid", valueName: "name"))
  var pod: String?

  @Option(help: ArgumentHelp("Only crashes in this Kubernetes namespace", valueName: "name"))
  var namespace: String?

  @Option(help: ArgumentHelp("Only crashes in requests with exactly this operation", valueName: "operation"))
  var route: String?

  @Option(
    help: ArgumentHelp("Only crashes in requests of this trace", valueName: "id"), transform: traceID)
  var traceId: String?

  var isRestricting: Bool { filter != ReportFilter() }

  /// Returns the failure that reports an empty list.
  func nothingFound(_ client: CrashClient) -> Failure {
    isRestricting ? .nothing("no crash matches", of: client) : .noCrash(of: client)
  }

  var filter: ReportFilter {
    ReportFilter(
      pid: pid, name: name, group: group, unit: unit, signal: signal, executable: exe, release: release,
      environment: environment, tags: wantedTags.isEmpty ? nil : wantedTags, route: route, traceID: traceId,
      since: period.sinceText, until: period.untilText)
  }
}

extension FilterOptions {
  /// The tags of `--tag`, and the tags under which crashd stores the pod and the namespace.
  fileprivate var wantedTags: [String] {
    let podKey = ReportFilter.isPodUID(pod) ? "k8s.pod.uid" : "k8s.pod.name"
    let places = [("k8s.namespace.name", namespace), (podKey, pod)]
    return tags + places.compactMap { key, value in value.map { "\(key)=\($0)" } }
  }
}

@Sendable private func signalName(_ text: String) throws -> String {
  guard let name = SignalName.parse(text) else {
    throw ValidationError("invalid signal '\(text)': examples are SIGSEGV, segv and 11")
  }
  return name
}

@Sendable private func tagText(_ text: String) throws -> String {
  guard ReportFilter.tag(text) != nil else { throw ValidationError("invalid tag '\(text)': an example is region=eu") }
  return text
}

@Sendable private func traceID(_ text: String) throws -> String {
  let id = text.lowercased()
  guard ReportFilter.isTraceID(id) else {
    throw ValidationError("invalid trace id '\(text)': it has 32 hexadecimal digits")
  }
  return id
}

/// The option that limits the length of a list.
struct LimitOptions: ParsableArguments {
  /// The limit of a list without `-n`; `export` and `reanalyze` have no limit then.
  static let standard = 100

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")],
    help: ArgumentHelp("Show at most this many items, the newest ones", valueName: "number"))
  var limit: Int?

  func validate() throws {
    if let limit, limit < 1 { throw ValidationError("invalid value '\(limit)' for -n: it takes a number from 1") }
  }
}

/// The options for the length and the order of a list.
struct ListOptions: ParsableArguments {
  @OptionGroup var count: LimitOptions

  @Flag(name: .shortAndLong, help: "Show the newest first (default on a terminal)")
  var reverse = false

  @Flag(name: .customLong("oldest-first"), help: "Show the newest last (default in a pipe)")
  var isOldestFirst = false

  func validate() throws {
    if reverse, isOldestFirst { throw ValidationError("--reverse and --oldest-first exclude each other") }
  }

  var limit: Int { count.limit ?? LimitOptions.standard }

  /// Returns the note below an incomplete list, or nil if the user gave a limit.
  func rest(_ hasMore: Bool, of what: String) -> String? {
    hasMore && count.limit == nil ? Listings.rest(nil, of: what, "see -n NUMBER") : nil
  }

  /// Returns whether the newest item comes first.
  ///
  /// On a terminal, text begins with the newest item by default, because people read from the top.
  ///
  /// JSON begins with the oldest item by default, even on a terminal: programs read JSON, and expect the order of a
  /// pipe.
  func isNewestFirst(_ connection: ConnectionOptions) -> Bool {
    reverse || !isOldestFirst && connection.json == .off && connection.terminal.width != nil
  }

  /// Returns the items in the order of the output.
  ///
  /// Precondition: in the argument, the newest item comes first.
  func ordered<Item>(_ items: [Item], _ connection: ConnectionOptions) -> [Item] {
    isNewestFirst(connection) ? items : items.reversed()
  }
}

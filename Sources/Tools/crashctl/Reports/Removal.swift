import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import CrashReport

struct Remove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Remove crash reports and their records",
    discussion: """
      If one report is not found, none is removed. The groups of removed reports no longer count them. To remove old \
      crashes, use prune.
      """)

  @Flag(help: "Only print which reports it would remove")
  var dryRun = false

  @Argument(help: "First digits of each report's id", completion: .custom(Completions.reports))
  var ids: [String]

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    if dryRun {
      let found = try ids.map { id in
        try connection.ask { client throws(ClientError) in try client.report(id: id).report.id }
      }
      if connection.json != .off { return try connection.show(json: ["removed": found]) }
      return try Output.write(found.map { "would remove \($0)\n" }.joined())
    }
    let removed = try connection.ask { client throws(ClientError) in try client.remove(ids: ids) }
    if connection.json != .off { return try connection.show(json: ["removed": removed]) }
    try Output.write("removed " + removed.joined(separator: "\nremoved ") + "\n")
  }
}

struct Prune: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Remove old crashes; their groups still count them",
    discussion: """
      crashd removes old crashes automatically, by the retention in its settings. This command removes them once, as in
      crashctl prune --older-than 7d --dry-run
      """)

  @Option(
    help: ArgumentHelp(
      "Remove crashes before this: an age such as 12h, 7d or 4w, or a time as list -S takes", valueName: "age"))
  var olderThan: String

  @Flag(help: "Only count the crashes that would be removed")
  var dryRun = false

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws { _ = try limit() }

  /// The maximum number of reports that one call removes.
  private static let step = 1_024

  func run() throws {
    let limit = try limit()
    let count = dryRun ? try count(before: limit) : try remove(before: limit)
    if connection.json != .off { return try connection.show(json: ["removed": count]) }
    try Output.write("\(dryRun ? "would remove" : "removed") \(count) reports\n")
  }

  private func count(before limit: String) throws -> Int {
    try connection.ask { client throws(ClientError) in try client.prune(before: limit, isDryRun: true) }
  }

  /// Removes the reports in batches, so that no single call takes long.
  private func remove(before limit: String) throws -> Int {
    var bar = ProgressBar("prune", environment: connection.environment)
    if bar.isShown { bar.total = try count(before: limit) }
    var removed = 0
    while true {
      let some = try connection.ask { client throws(ClientError) in
        try client.prune(before: limit, isDryRun: false, limit: Self.step)
      }
      removed += some
      bar.show(removed)
      if some < Self.step { break }
    }
    bar.end()
    return removed
  }

  private func limit() throws -> String {
    guard let seconds = Age.seconds(before: olderThan) ?? LocalTime.parse(olderThan), seconds >= 0 else {
      throw ValidationError("invalid age or time '\(olderThan)': examples are 7d, 12h and '2026-11-21 08:10'")
    }
    return LocalTime.rfc3339(seconds)
  }
}

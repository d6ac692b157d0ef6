import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Remove: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rm", abstract: "Removes crashes: their reports, and what the processes wrote.",
    discussion: """
      All of them or, when one is not found, none. Their groups do not count them any more: for what merely got old there \
      is prune.
      """)

  @OptionGroup var connection: ConnectionOptions

  @Argument(help: "The first digits of each report's id.", completion: .custom(reportCompletions))
  var ids: [String]

  func run() throws {
    let removed = try connection.ask { client throws(ClientError) in try client.remove(ids: ids) }
    if connection.json != .off { return try connection.show(json: ["removed": removed]) }
    try Output.write("removed " + removed.joined(separator: "\nremoved ") + "\n")
  }
}

struct Prune: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Removes old crashes; their groups still count them.",
    discussion: """
      crashd does so by itself, as its configuration says. This is for once.
      crashctl prune --older-than 7d --dry-run
      """)

  @OptionGroup var connection: ConnectionOptions

  @Option(
    help: ArgumentHelp(
      "Crashes before this: an age such as 12h, 7d or 4w, or a time as list -S takes.", valueName: "age"))
  var olderThan: String

  @Flag(help: "Tell how many they are, and remove none.")
  var dryRun = false

  func validate() throws { _ = try limit() }

  /// Removed by one call.
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

  /// Some at a time: however many they are, no call takes long.
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
      throw ValidationError("'\(olderThan)' is no age or time: write such as 7d, 12h or '2026-11-21 08:10'")
    }
    return LocalTime.rfc3339(seconds)
  }
}

import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol

struct Import: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Store the crashes that a log contains as record lines",
    discussion: """
      With CRASHSHIELD_RECORD=stderr, a process that can reach no crashd prints its crash as one line, the record \
      line. This verb gives the record lines of a log to crashd. A record that crashd already has is not stored again. \
      The reports belong to your user. crashctl decode shows the crashes without storing them.

      Examples:
        kubectl logs --previous shop | crashctl import -
        crashctl import /var/log/shop.json --json=short
      """)

  @Argument(help: "Log with record lines, in any format (-: standard input)", completion: .file())
  var log: String

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func run() throws {
    var (new, known) = (0, 0)
    try RecordImport(path: log, client: connection.client).run { imported throws(Failure) in
      if imported.isNew { new += 1 } else { known += 1 }
      try Output.write(try line(imported))
    }
    if connection.json == .off { Output.complain("\(new) imported, \(known) already stored") }
  }

  private func line(_ imported: ImportedRecord) throws(Failure) -> String {
    if connection.json != .off { return try connection.text(imported) }
    // The report is nil if it was removed, or if its program has more rights than the caller.
    let report = try? connection.client.report(id: imported.id).report
    return ReportText.line(imported, report)
  }
}

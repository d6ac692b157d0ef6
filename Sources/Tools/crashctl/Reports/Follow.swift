import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import Glibc

struct Follow: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Print crashes as they happen, until Ctrl-C",
    discussion: """
      With -n or -S, stored crashes come first, as in journalctl. With --json, each crash is one line (pretty: \
      several): {"cursor": CURSOR, "report": REPORT}; --cursor resumes after a cursor. A crash is printed again if its \
      report changes.

      Examples:
        crashctl follow -n 10                   # the last ten, then new ones
        crashctl follow --name shop --full      # whole reports of one program
      """)

  @Flag(help: "Print whole reports instead of one line each")
  var full = false

  @Option(help: "Start after this cursor, which an earlier follow printed (default: start now)")
  var cursor: String?

  @Option(
    help: """
      Resume after the last crash printed under this name; no crash is missed, the last one may repeat
      """)
  var subscriber: String?

  @Option(
    name: [.customShort("n", allowingJoined: true), .customLong("limit")],
    help: ArgumentHelp(
      "Print this many stored crashes first (default: none; with -S all since then)", valueName: "number"))
  var limit: Int?

  @OptionGroup(title: "Filters") var filter: FilterOptions

  @OptionGroup(title: "General options") var connection: ConnectionOptions

  func validate() throws {
    if let limit, limit < 0 { throw ValidationError("invalid value '\(limit)' for -n: it takes a number from 0") }
  }

  func run() throws {
    // On Ctrl-C, exit at once, because this command does not need to clean up.
    signal(SIGINT) { _ in _exit(130) }
    var printer = EventPrinter(style: connection.json, isFull: full, terminal: connection.terminal)
    // Open the stream before reading the list. The stream then contains any crash that occurs between both calls.
    var events = try begin(after: cursor)
    for report in try stored() { if let text = try printer.text(report) { try Output.write(text) } }
    if connection.terminal.width != nil { Output.complain("waiting for crashes (Ctrl-C to stop)") }
    // `printed` is the cursor of the last printed event. `begun` is the cursor after which the stream was last resumed.
    var (printed, begun): (String?, String?)
    while true {
      let event: EventStream.Event?
      do throws(ClientError) {
        event = try events.next(hangup: STDOUT_FILENO)
      } catch {
        // Skip an event that cannot be decoded, for example because its row is damaged. This event would also end each
        // later run at this cursor.
        if case .malformedReply(let problem) = error, let cursor = events.unreadableCursor {
          Output.complain("dropped an unreadable report: \(problem)")
          try acknowledge(cursor)
          printed = cursor
          continue
        }
        // crashd disconnects a reader that stays slow, for example on an overloaded machine. Resume after the last
        // printed event, so that no event is lost. Report an error if crashd disconnects again before the next event.
        guard case .closed = error, let printed, printed != begun else {
          throw Failure(error, of: connection.client)
        }
        begun = printed
        events = try begin(after: printed)
        continue
      }
      guard let event else { break }
      if let text = try printer.text(event) { try Output.write(text) }
      guard case .report(_, let cursor) = event else { continue }
      printed = cursor
      // Acknowledge after printing, so that crashd sends a crash again if it was not printed.
      try acknowledge(cursor)
    }
    throw Failure(
      .unreachable, "crashd at '\(connection.client.socketPath)' ended the stream: crashd has stopped, try again")
  }

  /// Returns the stored crashes to print first, the oldest first.
  ///
  /// Returns an empty array if a cursor or a subscriber is given, because the stream then begins at that position.
  private func stored() throws -> [EventStream.Event] {
    guard limit != nil || filter.period.since != nil, cursor == nil, subscriber == nil else { return [] }
    let query = ListQuery(limit: limit, filter: filter.filter)
    return try connection.ask { client throws(ClientError) in
      var events: [EventStream.Event] = []
      for summary in try ReportQuery.fetch(query, from: client).reversed() where summary.isPreliminary != true {
        do throws(ClientError) {
          events.append(.report(try client.report(id: summary.id), cursor: summary.cursor))
        } catch {
          // Skip a report that was removed after the list was read.
          guard case .refused(.noSuchReport) = error else { throw error }
        }
      }
      return events
    }
  }

  private func acknowledge(_ cursor: String) throws(Failure) {
    guard let subscriber else { return }
    _ = try connection.ask { client throws(ClientError) in
      try client.acknowledge(cursor, subscriber: subscriber)
    }
  }

  private func begin(after cursor: String?) throws(Failure) -> EventStream {
    try connection.ask { client throws(ClientError) in
      do throws(ClientError) {
        return try client.subscribe(filter.filter, after: cursor, subscriber: subscriber).begun()
      } catch {
        guard case .refused(.cursorExpired(let lost, let isExact)) = error else { throw error }
        let count = isExact ? "\(lost)" : "about \(lost)"
        Output.complain("\(count) reports were removed before they were read; the remaining ones follow")
        return try client.subscribe(filter.filter, after: cursor, subscriber: subscriber, expired: true)
      }
    }
  }
}

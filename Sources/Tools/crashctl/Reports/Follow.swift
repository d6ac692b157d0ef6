import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import Glibc

struct Follow: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Prints crashes as they happen, until Ctrl-C.",
    discussion: """
      With --json each crash is one line (pretty: several): {"cursor": …, "report": …}; --cursor goes on after one. \
      The same crash may come again with more in it. -S and -U restrict what comes, and do not begin earlier.
      """)

  @OptionGroup var connection: ConnectionOptions

  @Flag(help: "Print whole reports instead of one line each.")
  var full = false

  @Option(help: "Begin after this cursor of an earlier follow, not now.")
  var cursor: String?

  @Option(
    help: """
      Go on after what was printed under this name last time, whatever happened meanwhile: no crash is missed, one may \
      come twice.
      """)
  var subscriber: String?

  @OptionGroup var filter: FilterOptions

  func run() throws {
    // Ctrl-C is how this verb ends; nothing is left to clean up.
    signal(SIGINT) { _ in _exit(130) }
    var events = try begin(after: cursor)
    var printer = EventPrinter(style: connection.json, isFull: full, terminal: connection.terminal)
    // What was printed last, and after what the stream was begun again.
    var (printed, begun): (String?, String?)
    while true {
      let event: EventStream.Event?
      do throws(ClientError) {
        event = try events.next(hangup: STDOUT_FILENO)
      } catch {
        // crashd cuts off who does not read for a while, as on a machine that has no time: there nothing is lost. Who was
        // cut off without an event since goes.
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
      // Once it is printed, and not before: what was not printed comes again.
      if let subscriber {
        _ = try connection.ask { client throws(ClientError) in
          try client.acknowledge(cursor, subscriber: subscriber)
        }
      }
    }
    throw Failure(.unreachable, "crashd at '\(connection.client.socketPath)' ended the stream: it stopped, try again")
  }

  private func begin(after cursor: String?) throws(Failure) -> EventStream {
    try connection.ask { client throws(ClientError) in
      do throws(ClientError) {
        return try client.subscribe(filter.filter, after: cursor, subscriber: subscriber).begun()
      } catch {
        guard case .refused(.cursorExpired(let lost, let isExact)) = error else { throw error }
        let count = isExact ? "\(lost)" : "about \(lost)"
        Output.complain("\(count) reports were removed before they were read; what is left follows")
        return try client.subscribe(filter.filter, after: cursor, subscriber: subscriber, expired: true)
      }
    }
  }
}

import ArgumentParser
import CrashPages
import FleetPages
import FleetStore

/// Serves the pages of a tenant to the operator who started the command.
struct Web: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the issues and crashes of a tenant as web pages",
    discussion: """
      The command reads from the database, listens on loopback or on a Unix socket, and prints a link with a one-time \
      token. The pages are read-only.
      """)

  @OptionGroup var options: Issues.Options

  @Option(
    help: ArgumentHelp(
      "Listen on this port of loopback, or on a Unix socket; 0 means any free port", valueName: "port|path"))
  var listen = "0"

  func validate() throws {
    if ListenPlace(listen) == nil {
      throw ValidationError("invalid --listen '\(listen)'; examples: 8080, [::1]:8080, /run/user/1000/fleet.sock")
    }
  }

  func run() async throws {
    guard let place = ListenPlace(listen) else { return }
    try await options.withTenant { store, tenant in
      try await store.checkSchema()
      let source = FleetSource(store, tenant: tenant, named: "fleet · \(options.tenant)")
      try await PageServer(try Site(source: source), on: place, command: "crash-fleet web").run()
    }
  }
}

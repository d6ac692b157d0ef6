import ArgumentParser
import CrashPages
import FleetPages
import FleetStore

/// Serves the pages of a tenant to the operator who started the command, or to the users of a reverse proxy.
struct Web: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show the issues and crashes of a tenant as web pages",
    discussion: """
      The command reads from the database, listens on loopback or on a Unix socket, and prints a link with a one-time \
      token. The pages are read-only.

      With --user-header, a reverse proxy authenticates the users. The proxy sets this header to the name of the user \
      in each request, and removes the client's own. The proxy must be in the group of the command, which can open the \
      socket. Every other member of this group can read the pages, too.
      """)

  @OptionGroup var options: Issues.Options

  @Option(
    help: ArgumentHelp(
      "Listen on this port of loopback, or on a Unix socket; 0 means any free port", valueName: "port|path"))
  var listen = "0"

  @Option(
    help: ArgumentHelp(
      "Trust a reverse proxy on the Unix socket of --listen, which names the user in this header",
      valueName: "header"))
  var userHeader: String?

  func validate() throws {
    guard let place = ListenPlace(listen) else {
      throw ValidationError("invalid --listen '\(listen)'; examples: 8080, [::1]:8080, /run/user/1000/fleet.sock")
    }
    guard let userHeader else { return }
    guard ProxyAccess(header: userHeader) != nil else {
      throw ValidationError("invalid --user-header '\(userHeader)'; give the name of a header, such as Remote-User")
    }
    guard case .socket = place else {
      throw ValidationError(
        """
        --user-header needs a Unix socket, because every user of the machine can send a header to a port: \
        add --listen /run/crash-fleet-web/shop.sock
        """)
    }
  }

  func run() async throws {
    guard let place = ListenPlace(listen) else { return }
    try await options.withTenant { store, tenant in
      try await store.checkSchema()
      let source = FleetSource(store, tenant: tenant, named: "fleet · \(options.tenant)")
      let site = try Site(source: source)
      if let proxy = userHeader.flatMap(ProxyAccess.init(header:)) {
        try await PageServer(site, on: place, proxy: proxy)?.run()
      } else {
        try await PageServer(site, on: place, command: "crash-fleet web").run()
      }
    }
  }
}

internal import Hummingbird
internal import Logging
internal import NIOCore

/// Serves pages to the user who started the program, who opens them by a link with a one-time token.
public struct PageServer: Sendable {
  private let site: Site
  private let place: ListenPlace
  private let command: String

  /// Creates a server.
  ///
  /// `command` prints a new link, such as `crashctl web`.
  public init(_ site: Site, on place: ListenPlace, command: String) {
    (self.site, self.place, self.command) = (site, place, command)
  }

  /// Prints the link, and serves until SIGTERM, SIGINT or the cancellation of the task.
  /// - Throws: `StartFailure` if the server cannot listen.
  public func run() async throws {
    let token = PageAccess.secret()
    let access = PageAccess(token: token, discriminator: String(PageAccess.secret().prefix(8)), command: command)
    var logger = Logger(label: "pages", factory: { StreamLogHandler.standardError(label: $0) })
    logger.logLevel = .error
    let (place, socket) = (place, ListenSocket(place))
    try socket.prepare()
    defer { socket.close() }
    let application = Application(
      responder: PageResponder<BasicRequestContext>(site: site, access: access),
      configuration: .init(address: place.address, serverName: nil),
      onServerRunning: { channel in
        socket.opened()
        place.announce(channel.localAddress, token: token)
      }, logger: logger)
    do {
      try await application.runService()
    } catch {
      throw StartFailure(text: "cannot listen on '\(place)': \(error)")
    }
  }
}

/// A failure that ends the program.
public struct StartFailure: Error, CustomStringConvertible {
  /// The reason.
  public var description: String

  /// Creates a failure.
  public init(text: String) { description = text }
}

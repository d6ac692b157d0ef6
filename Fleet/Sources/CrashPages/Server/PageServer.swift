internal import Hummingbird
internal import Logging
internal import NIOCore

/// Serves pages to the user who started the program, or to the users of a reverse proxy.
public struct PageServer: Sendable {
  private let responder: PageResponder<BasicRequestContext>
  private let place: ListenPlace
  private let socket: ListenSocket
  /// The token of the link, which only a server without a proxy has.
  private let token: String?

  /// Creates a server that the user opens by a link with a one-time token.
  ///
  /// `command` prints a new link, such as `crashctl web`.
  public init(_ site: Site, on place: ListenPlace, command: String) {
    let token = PageAccess.secret()
    let access = PageAccess(token: token, discriminator: String(PageAccess.secret().prefix(8)), command: command)
    responder = PageResponder(site: site, access: access)
    (self.place, socket, self.token) = (place, ListenSocket(place), token)
  }

  /// Creates a server for a reverse proxy that runs in the group of this process; nil if the place is a port.
  public init?(_ site: Site, on place: ListenPlace, proxy: ProxyAccess) {
    guard case .socket = place else { return nil }
    responder = PageResponder(site: site, proxy: proxy)
    (self.place, socket, token) = (place, ListenSocket(place, isForGroup: true), nil)
  }

  /// Prints the link, and serves until SIGTERM, SIGINT or the cancellation of the task.
  /// - Throws: `StartFailure` if the server cannot listen.
  public func run() async throws {
    var logger = Logger(label: "pages", factory: { StreamLogHandler.standardError(label: $0) })
    logger.logLevel = .error
    let (place, socket, token) = (place, socket, token)
    try socket.prepare()
    defer { socket.close() }
    let application = Application(
      responder: responder,
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

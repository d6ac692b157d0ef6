internal import Hummingbird

/// Finds the route of a request without running its handler.
///
/// The finder has a second router with the routes of the server's router. In the second router, a middleware answers
/// the request as soon as the route is found.
struct RouteFinder<Context: RequestContext>: Sendable {
  private let responder: RouterResponder<Context>

  init(_ router: Router<Context>, options: RouterOptions) {
    // `router.routes` already contains the HEAD routes that the option `autoGenerateHeadEndpoints` has generated.
    let routes = Router(context: Context.self, options: options.subtracting(.autoGenerateHeadEndpoints))
    routes.add(middleware: Stop())
    for route in router.routes {
      routes.on(route.path, method: route.method) { _, _ in Response(status: .ok) }
    }
    responder = routes.buildResponder()
  }

  /// Returns the pattern of the route, such as `/cart/{id}`, or nil if no route matches.
  ///
  /// The router stores the pattern in a storage that all copies of a context share. Therefore this function finds the
  /// pattern in its own `context`.
  func route(of request: Request, _ context: Context) async -> String? {
    guard (try? await responder.respond(to: request, context: context)) != nil else { return nil }
    return context.endpointPath
  }

  private struct Stop: RouterMiddleware {
    func handle(
      _ request: Request, context: Context, next: (Request, Context) async throws -> Response
    ) async throws -> Response { Response(status: .ok) }
  }
}

import FleetStore
import HTTPTypes
import Hummingbird
import Logging
import NIOCore

/// Answers the requests of hosts.
///
/// It keeps no state that must survive a restart. Several service processes can share one database.
struct FleetService: Sendable {
  let store: FleetStore
  let limits: FleetLimits
  let metrics = FleetMetrics()
  private let (tokens, gate, bodies): (TokenCache, RequestGate, Semaphore)
  private let health: HealthCache
  private let asks: AskCache
  let outage: Outage
  let changes: ChangeService
  private let readsCertificates: Bool
  private let log: Logger

  /// - Parameters:
  ///   - store: The store.
  ///   - limits: The limits.
  ///   - readsCertificates: Whether connections can have verified client certificates.
  ///   - log: The log.
  init(_ store: FleetStore, _ limits: FleetLimits, readsCertificates: Bool, log: Logger) {
    (self.store, self.limits, self.log) = (store, limits, log)
    self.readsCertificates = readsCertificates
    outage = Outage(log: log)
    changes = ChangeService(store: store)
    let outage = outage
    health = HealthCache { () throws(Refusal) in
      do throws(FleetError) {
        // Do not repeat a failed call, because this would delay the answer while the database hangs. The monitor
        // repeats its request anyway.
        try await store.checkSchema(repeats: false)
        outage.succeed()
      } catch { throw outage.refusal(error) }
    }
    tokens = TokenCache(store, outage, unknownLimit: limits.unknownTokens)
    asks = AskCache { () throws(FleetError) in try await store.openAsks() }
    gate = RequestGate(limits)
    // Refuse a body that has waited for more than 20 s: its client is probably gone, and it would delay the bodies of
    // clients that still wait.
    bodies = Semaphore(limits.bodies, waiting: limits.requests, patience: .seconds(20))
  }

  /// The routes.
  func router() -> Router<FleetContext> {
    let router = Router(context: FleetContext.self)
    router.post("/v1/reports") { request, context in
      await answer(context) { () throws(Refusal) in try await ingest(request, context) }
    }
    // This route is POST, because crash-forward sends only POST requests.
    router.post("/v1/position") { request, context in
      await answer(context) { () throws(Refusal) in try await position(request, context) }
    }
    router.get("/healthz") { _, context in
      await answer(context) { () throws(Refusal) in
        try await health.check()
        return Self.response(.ok, "{\"status\":\"ok\"}\n")
      }
    }
    router.get("/metrics") { _, _ in
      Response(
        status: .ok, headers: [.contentType: "text/plain; version=0.0.4"],
        body: .init(byteBuffer: ByteBuffer(string: metrics.text(calls: store.calls))))
    }
    return router
  }

  private func answer(
    _ context: FleetContext, _ body: () async throws(Refusal) -> Response
  ) async -> Response {
    do throws(Refusal) { return try await body() } catch {
      metrics.add(request: error.code.rawValue)
      log.debug("refused a request", metadata: ["code": "\(error.code.rawValue)", "reason": "\(error.text)"])
      var response = Self.response(
        error.code.status, "{\"code\":\"\(error.code.rawValue)\",\"message\":\(FleetReply.quoted(error.text))}\n")
      if let delay = error.code.retryAfter_s { response.headers[.retryAfter] = "\(delay)" }
      if error.code == .unauthorized { response.headers[.wwwAuthenticate] = "Bearer" }
      if error.code == .unknownEncoding { response.headers[.acceptEncoding] = BodyDecoder.codings }
      if error.code.endsConnection {
        response.headers[.connection] = "close"
        // Hummingbird discards the rest of the body until the connection closes. Close the connection one second later,
        // so that the client can read the response: closing a socket with unread data resets the connection.
        let channel = context.channel
        channel.eventLoop.scheduleTask(in: .seconds(1)) { channel.close(promise: nil) }
      }
      return response
    }
  }

  static func response(_ status: HTTPResponse.Status, _ json: String) -> Response {
    Response(
      status: status, headers: [.contentType: "application/json"],
      body: .init(byteBuffer: ByteBuffer(string: json)))
  }

  private func tenant(_ request: Request, _ context: FleetContext) async throws(Refusal) -> Int32 {
    let authorization = request.headers[.authorization]
    // A request with a token does not depend on the certificate of its connection.
    let certificate = readsCertificates && authorization == nil ? await context.certificate() : nil
    return try await tokens.tenant(authorization, certificate)
  }

  private func ingest(_ request: Request, _ context: FleetContext) async throws(Refusal) -> Response {
    let tenant = try await tenant(request, context)
    try gate.enter(tenant)
    defer { gate.leave(tenant) }
    let body = try await collect(request)
    let start = ContinuousClock.now
    let encoding = request.headers[.contentEncoding]
    // Keep the permit during the call of the database, because the items hold the decompressed body.
    let reply = try await bodies.run(for: tenant) { () throws(Refusal) in
      try await store(items(of: body, encoding: encoding), tenant: tenant)
    }
    for (outcome, count) in reply.counts { metrics.add(items: count, outcome: outcome) }
    metrics.add(ingest: ContinuousClock.now - start)
    metrics.add(request: "stored")
    return Self.response(.ok, reply.json)
  }

  private func items(
    of body: [UInt8], encoding: String?
  ) throws(Refusal) -> [Result<IngestItem, IngestProblem>] {
    let plain = try BodyDecoder(limitBytes: limits.decompressedBytes).decode(body, encoding: encoding)
    do throws(IngestProblem) { return try IngestParser(limits.items).parse(plain) } catch {
      throw Refusal(.malformed, "\(error.code.rawValue): \(error)")
    }
  }

  private func store(
    _ items: [Result<IngestItem, IngestProblem>], tenant: Int32
  ) async throws(Refusal) -> FleetReply {
    var good: [IngestItem] = []
    for case .success(let item) in items { good.append(item) }
    do throws(FleetError) {
      let outcomes = try await store.ingest(good, tenant: tenant)
      // A batch that has only expired items does not reach the database, so it does not show that the database works.
      if outcomes.contains(where: { $0 != .expired }) { outage.succeed(hasStored: true) }
      if zip(good, outcomes).contains(where: Self.changesPages) { changes.add(tenant) }
      return FleetReply(items, outcomes, asks: await asks.asks(of: tenant))
    } catch { throw outage.refusal(error) }
  }

  /// Whether pages show the item: it is a crash that is neither expired nor stored before.
  private static func changesPages(_ item: IngestItem, _ outcome: IngestOutcome) -> Bool {
    switch item {
    case .report, .count: outcome != .expired && outcome != .duplicate
    case .position, .answer: false
    }
  }

  private func position(_ request: Request, _ context: FleetContext) async throws(Refusal) -> Response {
    let tenant = try await tenant(request, context)
    try gate.enter(tenant)
    defer { gate.leave(tenant) }
    let parameters = request.uri.queryParameters
    guard let text = parameters["machine"], let machine = FleetStore.machine(String(text)),
      let stream = parameters["stream"], stream.utf8.count <= 256
    else {
      throw Refusal(.missingParameter, "give machine=32 hexadecimal digits and stream=a name")
    }
    let name = String(stream).replacing("\0", with: "")
    do throws(FleetError) {
      let cursor = try await store.position(tenant: tenant, machine: machine, stream: name)
      let answered = try await store.answeredAsks(tenant: tenant, machine: machine)
      outage.succeed()
      let numbers = answered.map { "\($0)" }.joined(separator: ",")
      let asks = answered.isEmpty ? "" : ",\"answered\":[\(numbers)]"
      return Self.response(.ok, "{\"cursor\":\(cursor.map(FleetReply.quoted) ?? "null")\(asks)}\n")
    } catch { throw outage.refusal(error) }
  }

  private func collect(_ request: Request) async throws(Refusal) -> [UInt8] {
    let tooLarge = Refusal(.bodyTooLarge, "a body may have at most \(limits.bodyBytes >> 10) KiB; send smaller batches")
    if let length = request.headers[.contentLength].flatMap({ Int($0) }), length > limits.bodyBytes { throw tooLarge }
    var body: [UInt8] = []
    do {
      for try await part in request.body {
        if body.count + part.readableBytes > limits.bodyBytes { throw tooLarge }
        body += part.readableBytesView
      }
    } catch let refusal as Refusal {
      throw refusal
    } catch {
      throw Refusal(.tooSlow, "the request did not arrive whole within \(limits.request_s) s")
    }
    return body
  }
}

import CrashProtocol

// Maps each method of the interface to the function that answers it. Each file with an extension of `CrashdInterface`
// binds the methods that it implements. The calls of `Subscribe`, and of `Incidents` with `more`, have many replies.
// `VarlinkConnection` answers these calls.
extension CrashdInterface {
  static let handlers: [String: any CallHandler] = {
    var table = HandlerTable()
    bindReports(in: &table)
    bindRetention(in: &table)
    bindSubscribers(in: &table)
    bindIncidents(in: &table)
    bindDangling(in: &table)
    bindGuards(in: &table)
    bindMetrics(in: &table)
    bindHealth(in: &table)
    return table.handlers
  }()
}

/// Answers the calls of one interface method.
protocol CallHandler: Sendable {
  func reply(
    to call: VarlinkCall, from client: Client, by interface: CrashdInterface
  ) async throws(ProtocolError) -> any Encodable & Sendable
}

struct HandlerTable {
  fileprivate(set) var handlers: [String: any CallHandler] = [:]

  /// Binds an interface method to a function that receives the method's parameters and returns its reply.
  mutating func bind<M: Method>(_ method: M.Type, _ answer: @escaping MethodHandler<M>.Answer) {
    handlers[M.name] = MethodHandler<M>(answer: answer)
  }
}

// This type is a struct and not a closure, because the Swift compiler (6.3.1) crashes on a closure with typed throws
// and an existential result.
struct MethodHandler<M: Method>: CallHandler {
  typealias Answer =
    @Sendable (CrashdInterface) -> (M.Parameters, Client) async throws(ProtocolError) -> M.Sent

  let reader = ParameterReader(M.Parameters.self)
  let answer: Answer

  func reply(
    to call: VarlinkCall, from client: Client, by interface: CrashdInterface
  ) async throws(ProtocolError) -> any Encodable & Sendable {
    try await answer(interface)(reader.read(call), client)
  }
}

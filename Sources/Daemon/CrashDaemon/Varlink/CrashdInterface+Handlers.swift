import CrashProtocol

// Which function answers which method; VarlinkConnection answers `Subscribe`, which has many replies.
extension CrashdInterface {
  static let handlers: [String: any CallHandler] = {
    var table = HandlerTable()
    table.bind(Methods.List.self, CrashdInterface.list)
    table.bind(Methods.Get.self, CrashdInterface.get)
    table.bind(Methods.Groups.self, CrashdInterface.groups)
    table.bind(Methods.ResolveGroup.self, CrashdInterface.resolveGroup)
    table.bind(Methods.Explain.self, CrashdInterface.explain)
    table.bind(Methods.Reanalyse.self, CrashdInterface.reanalyse)
    table.bind(Methods.Ack.self, CrashdInterface.acknowledge)
    table.bind(Methods.Cursor.self, CrashdInterface.subscriberCursor)
    table.bind(Methods.Subscribers.self, CrashdInterface.subscribers)
    table.bind(Methods.Unsubscribe.self, CrashdInterface.forget)
    table.bind(Methods.Prune.self, CrashdInterface.prune)
    table.bind(Methods.Remove.self, CrashdInterface.remove)
    table.bind(Methods.Incidents.self, CrashdInterface.incidents)
    table.bind(Methods.TopIncidents.self, CrashdInterface.topIncidents)
    table.bind(Methods.ProtectedClasses.self, CrashdInterface.protectedClasses)
    table.bind(Methods.DanglingPolicies.self, CrashdInterface.danglingPolicies)
    table.bind(Methods.DanglingClasses.self, CrashdInterface.danglingClasses)
    table.bind(Methods.DanglingEvents.self, CrashdInterface.danglingEvents)
    table.bind(Methods.DanglingProtect.self, CrashdInterface.danglingProtect)
    table.bind(Methods.DanglingRelease.self, CrashdInterface.danglingRelease)
    table.bind(Methods.PolicySet.self, CrashdInterface.policySet)
    table.bind(Methods.GuardModes.self, CrashdInterface.guardModes)
    table.bind(Methods.GuardSet.self, CrashdInterface.guardSet)
    table.bind(Methods.Processes.self, CrashdInterface.processes)
    table.bind(Methods.AwaitProcess.self, CrashdInterface.awaitProcess)
    table.bind(Methods.Status.self, CrashdInterface.status)
    table.bind(Methods.Metrics.self, CrashdInterface.metrics)
    return table.handlers
  }()
}

/// Answers the calls of one method.
protocol CallHandler: Sendable {
  func reply(
    to call: VarlinkCall, from client: Client, by interface: CrashdInterface
  ) async throws(ProtocolError) -> any Encodable & Sendable
}

private struct HandlerTable {
  private(set) var handlers: [String: any CallHandler] = [:]

  /// Answers calls of a method by a function that takes its parameters and returns its reply.
  mutating func bind<M: Method>(_ method: M.Type, _ answer: @escaping MethodHandler<M>.Answer) {
    handlers[M.name] = MethodHandler<M>(answer: answer)
  }
}

// A struct: for a closure in its place, of typed throws and with an existential result, the compiler (6.3.1) crashes.
private struct MethodHandler<M: Method>: CallHandler {
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

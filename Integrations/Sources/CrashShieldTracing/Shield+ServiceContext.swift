public import CrashShield
internal import CrashShieldServer
public import Instrumentation

extension Shield {
  /// Runs `body` as a request with the trace of a service context.
  ///
  /// - Parameters:
  ///   - operation: What the request does, such as its method and route.
  ///   - id: The ID of this request, such as the ID that the program logs.
  ///   - context: The service context, into which a `TraceContextInstrument` has extracted the client's header.
  ///   - tags: Further facts about the request, such as the customer.
  ///   - isolation: The caller's actor.
  ///   - body: The work of the request.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  public static func withRequest<Value, Failure: Error>(
    _ operation: String, id: String? = nil, in context: ServiceContext, tags: [String: String] = [:],
    isolation: isolated (any Actor)? = #isolation,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let parent = context.traceParent
    return try await withRequest(
      operation, id: id, traceID: parent?.traceID, spanID: parent?.spanID, tags: tags, isolation: isolation, body)
  }

  /// Runs `work` as a contained request with the trace of a service context.
  ///
  /// - Parameters:
  ///   - operation: What the request does, such as its method and route.
  ///   - id: The ID of this request, such as the ID that the program logs.
  ///   - context: The service context, into which a `TraceContextInstrument` has extracted the client's header.
  ///   - tags: Further facts about the request, such as the customer.
  ///   - work: The code of the request.
  /// - Returns: The result of `work`.
  /// - Throws: The error of `work`, or a `ShieldFault` after a trap.
  public static func withContainedRequest<Value: Sendable>(
    _ operation: String, id: String? = nil, in context: ServiceContext, tags: [String: String] = [:],
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    let parent = context.traceParent
    return try await withContainedRequest(
      operation, id: id, traceID: parent?.traceID, spanID: parent?.spanID, tags: tags, work)
  }
}

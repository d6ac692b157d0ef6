extension Shield {
  /// Runs the work of a request in a separate task, where a Swift trap ends the request instead of the process.
  ///
  /// ```swift
  /// do {
  ///   return try await Shield.withContainedRequest("GET /cart/:id", id: context.id) { try await respond(to: request) }
  /// } catch is ShieldFault {
  ///   return Response(status: .internalServerError)
  /// }
  /// ```
  ///
  /// `Configuration.containment` sets whether a trap ends only the request, drains the process, or ends the process at
  /// once. A process that drains finishes the other requests in flight, and then ends. If containment is off or could
  /// not start, the function runs the work in the caller's task, as `withRequest` does. The function also does so if
  /// 4,096 requests are registered already, or if the shield is not started. If `Shield.status.containmentObstacle` has
  /// a reason, no trap is contained in this process.
  ///
  /// The function registers the request as `withRequest` does, with the same limits. The work inherits the priority and
  /// the task-local values of the caller, and runs on the global executor. Cancelling the caller's task cancels the
  /// work.
  ///
  /// **After a trap**, the call throws `ShieldFault.trapped` at once. The task that trapped never continues: its
  /// objects stay allocated, its locks stay locked, and its continuations are not resumed. The child tasks of the
  /// trapped task are cancelled, but continue to run. A trap in a child task of the work, in a task group or in
  /// `Task {}` also ends this request.
  ///
  /// In two cases a trap drains the process. In the first case, the trap does not belong to a request (`Task.detached`,
  /// a block of Dispatch, another thread). In the second case, the thread holds a resource that other threads can need,
  /// such as an actor. The article <doc:ContainedRequests> lists all cases, and says when not to use this function.
  ///
  /// This function may be called from any task, also from an actor. A call costs about a microsecond and two switches
  /// between tasks. Each call allocates a task for the work.
  ///
  /// - Parameters:
  ///   - operation: What the request does, such as its method and route.
  ///   - id: The ID of this request, such as the ID that the program logs.
  ///   - traceID: The trace ID of W3C Trace Context, of 32 hexadecimal digits. Any other string is ignored.
  ///   - spanID: The span ID of W3C Trace Context, of 16 hexadecimal digits. Any other string is ignored.
  ///   - tags: Further facts, such as the customer.
  ///   - isolation: The caller's actor.
  ///   - work: The code of the request. The work can still run after this function has returned. Therefore the work
  ///     must not use memory that is valid only during the call.
  /// - Returns: The result of the work.
  /// - Throws: The error of the work. `ShieldFault.trapped` after a trap. `ShieldFault.ended` if the process ends
  ///   before the work has finished.
  @inlinable
  public static func withContainedRequest<Value: Sendable>(
    _ operation: String, id: String? = nil, traceID: String? = nil, spanID: String? = nil,
    tags: [String: String] = [:], isolation: isolated (any Actor)? = #isolation,
    _ work: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    guard ContainedRequest.isOn else {
      return try await withRequest(
        operation, id: id, traceID: traceID, spanID: spanID, tags: tags, isolation: isolation, work)
    }
    let request = RequestContext.begin(operation, id: id, traceID: traceID, spanID: spanID, tags: tags)
    guard RequestContext.hasEntry(request) else {
      return try await RequestContext.runInPlace(request, work)
    }
    let state = ContainedTask()
    var running: Task<Void, Never>?
    do {
      let value = try await withTaskCancellationHandler {
        // Invariant: either the task or the shield resumes the continuation, and only once.
        try await unsafe withUnsafeThrowingContinuation { (continuation: UnsafeContinuation<Value, any Error>) in
          let task = unsafe ContainedRequest.start(request, continuation, work)
          state.set(task)
          running = task
        }
      } onCancel: {
        state.cancel()
      }
      // This reference retains the task until the cancellation handler has returned.
      withExtendedLifetime(running) {}
      return value
    } catch {
      // Cancelling the work calls its cancellation handlers, which can wait forever for a lock of the trapped thread. A
      // detached task cancels the work, so that the caller does not wait.
      if let running, (error as? ShieldFault) == .trapped { Task.detached { running.cancel() } }
      throw error
    }
  }
}

extension RequestContext {
  /// Runs the work in the caller's task.
  ///
  /// Used if the request has no entry in the ring, the memory that the process shares with crashd.
  @inlinable
  static func runInPlace<Value>(
    _ request: UInt64, isolation: isolated (any Actor)? = #isolation, _ work: @Sendable () async throws -> Value
  ) async throws -> Value {
    guard request != 0 else { return try await work() }
    let result = await handle.withValue(request) { () async -> Result<Value, any Error> in
      _ = isolation
      do { return .success(try await work()) } catch { return .failure(error) }
    }
    return try end(request, result)
  }
}

extension ContainedRequest {
  /// Creates the task that runs the work, and that resumes the caller afterwards.
  @inlinable
  static func start<Value: Sendable>(
    _ request: UInt64, _ continuation: UnsafeContinuation<Value, any Error>,
    _ work: @escaping @Sendable () async throws -> Value
  ) -> Task<Void, Never> {
    // Invariant: a continuation is a single pointer. `finish` decides between this task and the shield, so that only
    // one of them resumes the caller.
    let isArmed = unsafe arm(request, unsafeBitCast(continuation, to: UInt.self))
    runsNext(true)
    // Set the pool as the preferred executor, so that `Task.yield` enqueues on the pool, and not on a thread of
    // Dispatch.
    let task = Task(executorPreference: executor) {
      let result: Result<Value, any Error>
      do {
        result = .success(
          try await RequestContext.handle.withValue(request) {
            begin(request)
            return try await work()
          })
      } catch {
        result = .failure(error)
      }
      let hasFailed = if case .failure = result { true } else { false }
      guard finish(request, isArmed: isArmed, hasFailed: hasFailed) else { return }
      runsNext(true)
      unsafe continuation.resume(with: result)
      runsNext(false)
    }
    runsNext(false)
    return task
  }
}

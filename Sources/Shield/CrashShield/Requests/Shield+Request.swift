// Registers requests, so that a report names the request that crashed and the other requests in flight.
extension Shield {
  /// Runs `body` as a request, which the report names if `body` crashes.
  ///
  /// ```swift
  /// let response = Shield.withRequest("GET /cart/:id", id: requestID) { render(cart) }
  /// ```
  ///
  /// The report of a crash shows the request of each crashed thread, and all requests that were in flight. The report
  /// also shows the request in which each breadcrumb was recorded. This function only registers the request: a crash of
  /// `body` still ends the process.
  ///
  /// The crash handler finds the request in `body`, in tasks that `body` creates (child tasks, task groups, `async
  /// let`, `Task {}`), and in the actors that these tasks call. The handler does not find the request in
  /// `Task.detached`, in blocks of Dispatch on other threads, and on threads that `body` creates. A task that runs
  /// longer than its request has no request. In a nested call, the report names the inner request.
  ///
  /// The work of `Shield.isolated` has the request of its caller. Call `isolated` inside `withRequest`, and not
  /// `withRequest` inside `isolated`: if isolated work traps, a request that began inside this work never ends.
  ///
  /// At most 4,096 requests are registered at the same time. Further requests also run, but a report shows only how
  /// many there are. The operation can have 96 bytes of UTF-8, and the ID 64 bytes. Longer strings are truncated. All
  /// tags together can have 256 bytes, including one additional byte for each key and each value. A tag that does not
  /// fit is dropped. Do not put secrets into a request.
  ///
  /// This function may be called from any thread. If the shield is not started, this function only calls `body`. The
  /// function does not take a lock. A call costs about a hundred nanoseconds, and a third more with the IDs of a trace.
  /// In a task, the call does not allocate heap memory. Outside of tasks, the Swift runtime allocates the task-local
  /// value.
  ///
  /// - Parameters:
  ///   - operation: What the request does, such as its method and route. Use the route instead of the path, because
  ///     reports are filtered by this string, and a path can contain personal data.
  ///   - id: The ID of this request, such as the ID that the program logs.
  ///   - traceID: The trace ID of W3C Trace Context, of 32 hexadecimal digits. Any other string is ignored.
  ///   - spanID: The span ID of W3C Trace Context, of 16 hexadecimal digits. Any other string is ignored.
  ///   - tags: Further facts, such as the customer.
  ///   - body: The code of the request. The request is counted as failed if `body` throws an error.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  @inlinable
  public static func withRequest<Value, Failure: Error>(
    _ operation: String, id: String? = nil, traceID: String? = nil, spanID: String? = nil,
    tags: [String: String] = [:], _ body: () throws(Failure) -> Value
  ) throws(Failure) -> Value {
    let request = RequestContext.begin(operation, id: id, traceID: traceID, spanID: spanID, tags: tags)
    guard request != 0 else { return try body() }
    let outer = RequestContext.enter(request)
    let result = RequestContext.handle.withValue(request) { () -> Result<Value, Failure> in
      RequestContext.check(request)
      do throws(Failure) { return .success(try body()) } catch { return .failure(error) }
    }
    _ = RequestContext.enter(outer)
    return try RequestContext.end(request, result)
  }

  /// Runs the asynchronous `body` as a request, which the report names if `body` crashes.
  ///
  /// ```swift
  /// let response = try await Shield.withRequest("POST /order", id: context.id, tags: ["customer": customer]) {
  ///   try await handler(request)
  /// }
  /// ```
  ///
  /// The limits of the synchronous function apply. The request follows its task through each `await`, to other threads
  /// and actors. `body` runs on the caller's actor, without a change of thread.
  ///
  /// - Parameters:
  ///   - operation: What the request does, such as its method and route.
  ///   - id: The ID of this request, such as the ID that the program logs.
  ///   - traceID: The trace ID of W3C Trace Context, of 32 hexadecimal digits. Any other string is ignored.
  ///   - spanID: The span ID of W3C Trace Context, of 16 hexadecimal digits. Any other string is ignored.
  ///   - tags: Further facts, such as the customer.
  ///   - isolation: The caller's actor.
  ///   - body: The code of the request. The request is counted as failed if `body` throws an error.
  /// - Returns: The result of `body`.
  /// - Throws: The error of `body`.
  @inlinable
  public static func withRequest<Value, Failure: Error>(
    _ operation: String, id: String? = nil, traceID: String? = nil, spanID: String? = nil,
    tags: [String: String] = [:], isolation: isolated (any Actor)? = #isolation,
    _ body: nonisolated(nonsending) () async throws(Failure) -> Value
  ) async throws(Failure) -> Value {
    let request = RequestContext.begin(operation, id: id, traceID: traceID, spanID: spanID, tags: tags)
    guard request != 0 else { return try await body() }
    let result = await RequestContext.handle.withValue(request) { () async -> Result<Value, Failure> in
      // The use of `isolation` isolates this closure to the caller's actor, so that the closure starts on the same
      // thread.
      _ = isolation
      RequestContext.check(request)
      do throws(Failure) { return .success(try await body()) } catch { return .failure(error) }
    }
    return try RequestContext.end(request, result)
  }
}

extension RequestContext {
  /// Ends the request as finished or failed, and returns or throws the result of its body.
  @inlinable
  static func end<Value, Failure: Error>(
    _ request: UInt64, _ result: Result<Value, Failure>
  ) throws(Failure) -> Value {
    switch result {
    case .success(let value):
      end(request, hasFailed: false)
      return value
    case .failure(let error):
      end(request, hasFailed: true)
      throw error
    }
  }
}

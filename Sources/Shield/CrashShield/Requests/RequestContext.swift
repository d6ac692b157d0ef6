internal import CShim

/// Registers requests in the ring for `Shield.withRequest`.
///
/// A handle identifies a request while the request runs. The handle 0 means that there is no request. If a task runs
/// longer than its request, its handle no longer identifies a request. The members are `@usableFromInline`, because
/// `Shield.withRequest` is inlined into the program.
@usableFromInline
enum RequestContext: Sendable {
  /// The handle of the current request.
  ///
  /// The crash handler reads the value of this task-local from the task's memory.
  @usableFromInline static let handle = TaskLocal<UInt64>(wrappedValue: 0)

  /// The address of the object `handle`, which is the key of its values in a task's list of task-local values.
  private static let key = UInt64(UInt(bitPattern: ObjectIdentifier(handle)))

  /// Registers a request, and returns its handle, or 0 if the shield is not started.
  @usableFromInline
  static func begin(
    _ operation: String, id: String?, traceID: String?, spanID: String?, tags: [String: String]
  ) -> UInt64 {
    let request = unsafe withText(operation) { operation in
      // The strings stay valid until these closures return, and the C function copies them.
      unsafe withText(id) { id in unsafe cs_shim_request_begin(operation, id) }
    }
    guard request != 0 else { return 0 }
    if traceID != nil || spanID != nil {
      unsafe withText(traceID) { traceID in
        // The strings stay valid until these closures return, and the C function copies them.
        unsafe withText(spanID) { spanID in unsafe cs_shim_request_trace(request, traceID, spanID) }
      }
    }
    for (key, value) in tags {
      unsafe withText(key) { key in
        // Both strings stay valid until these closures return, and the C function copies them.
        unsafe withText(value) { value in unsafe cs_shim_request_tag(request, key, value) }
      }
    }
    cs_shim_request_run(request)
    return request
  }

  /// Returns whether the request has an entry in the ring; false if the ring's table of requests is full, or if the
  /// shield is not started.
  @usableFromInline
  static func hasEntry(_ request: UInt64) -> Bool { request != 0 && request >> 63 == 0 }

  @usableFromInline
  static func end(_ request: UInt64, hasFailed: Bool) { cs_shim_request_end(request, hasFailed) }

  /// Checks, in the first request of a task, whether the crash handler can read the handle from the task's memory.
  @usableFromInline
  static func check(_ request: UInt64) { cs_shim_request_check(key, request) }

  /// Sets the request of this thread, for code outside of tasks, and returns the previous request of the thread.
  @usableFromInline
  static func enter(_ request: UInt64) -> UInt64 { cs_shim_request_enter(request) }

  /// Runs `work` with a request on this thread, which has no task.
  ///
  /// This function does not use `TaskLocal.withValue`. In a debug build, `withValue` adds a frame of Swift's
  /// concurrency library to the stack of the work. This frame would prevent the containment of a trap.
  static func carry(_ request: UInt64, _ work: () -> Void) {
    guard request != 0 else { return work() }
    let outer = enter(request)
    // The key is the object `handle`, which exists until the process ends. The values of this task-local have the type
    // UInt64.
    let isBound = unsafe cs_shim_request_bind(key, request, unsafeBitCast(UInt64.self, to: UnsafeRawPointer.self))
    work()
    if isBound { cs_shim_request_unbind() }
    _ = enter(outer)
  }

  /// The number of the current request, or 0 if there is no current request.
  static var number: UInt64 { cs_shim_request_number(handle.get()) }

  /// Calls `body` with the bytes of a string, or with no bytes if the string is nil.
  ///
  /// On Linux, each string stores its bytes contiguously. Reading these bytes in place saves the retain and the release
  /// of a copy.
  @inline(__always)
  private static func withText<Result>(_ text: String?, _ body: (cs_shim_text) -> Result) -> Result {
    if let text {
      let result = unsafe text.utf8.withContiguousStorageIfAvailable { bytes -> Result? in
        guard let start = bytes.baseAddress else { return nil }
        // The bytes stay valid until `body` returns. Int8 and UInt8 have the same layout.
        let characters = unsafe UnsafeRawPointer(start).assumingMemoryBound(to: CChar.self)
        return unsafe body(cs_shim_text(start: characters, bytes: bytes.count))
      }
      if let result = result ?? nil { return result }
    }
    // The characters stay valid until `body` returns.
    return unsafe Shield.withCharacters(text ?? "") { start, count in
      unsafe body(cs_shim_text(start: start, bytes: count))
    }
  }
}

import Synchronization

/// What became of the events for each collector, for status and metrics.
final class ForwardCounts: Sendable {
  struct Count: Sendable, Equatable {
    var isConnected = false
    /// Events that the collector has.
    var delivered = 0
    /// Connections that could not be made, or broke.
    var failures = 0
  }

  private let counts = Mutex<[String: Count]>([:])

  var all: [String: Count] { counts.withLock { $0 } }

  func delivered(_ path: String) -> Int { counts.withLock { $0[path]?.delivered ?? 0 } }

  func change(_ path: String, _ body: (inout Count) -> Void) {
    counts.withLock { body(&$0[path, default: Count()]) }
  }

  func forget(_ path: String) { counts.withLock { $0[path] = nil } }
}

extension RingContents {
  /// A request that the program registered.
  public struct Request: Sendable, Equatable {
    /// The number of the request in its process, starting with 1.
    public var number: UInt64
    /// The start time in nanoseconds since 1970.
    public var startTime_ns: UInt64
    /// The operation or the route; can be empty.
    public var operation: String
    /// The program's id of the request; can be empty.
    public var id = ""
    /// The trace id in hexadecimal digits; can be empty.
    public var traceID = ""
    /// The span id in hexadecimal digits; can be empty.
    public var spanID = ""
    /// The tags as keys and values.
    public var tags: [String: String] = [:]
  }

  /// The requests of the process.
  public struct Requests: Sendable, Equatable {
    /// The requests that were running during the reading, oldest first.
    public var running: [Request] = []
    /// The requests that a trap ended, in the order in which they began.
    public var trapped: [Request] = []
    /// The numbers of requests since the process started.
    public var counts = RequestCounts()
  }

  /// The numbers of requests since the process started.
  public struct RequestCounts: Sendable, Equatable {
    /// The number of requests that began.
    public var begun: UInt64 = 0
    /// The number of requests that ended without an error.
    public var finished: UInt64 = 0
    /// The number of requests that ended by an error, by a trap, or at the end of a drain.
    public var failed: UInt64 = 0
    /// The number of requests for which the ring's request table had no free entry.
    public var overflow: UInt64 = 0
    /// Whether the crash handler of this process cannot find out which request a task is working on.
    public var isLookupRefused = false

    /// Creates the counts of a process without requests.
    public init() {}

    /// Whether the process registered no request.
    public var isEmpty: Bool { begun == 0 && overflow == 0 }
    /// The number of requests that have begun and not ended.
    public var unended: UInt64 { begun.subtractingOrZero(finished).subtractingOrZero(failed) }
  }
}

// The requests that the program registered with `Shield.withRequest`.
extension CrashReport {
  /// A request on which the program worked.
  public struct Request: Codable, Sendable, Equatable {
    /// The number of the request in its process, starting with 1.
    public var number: Int
    /// The operation or the route, such as `GET /orders/{id}`.
    public var operation: String
    /// The id that the program gave to the request, or nil if it gave none.
    public var id: String?
    /// The trace id of W3C Trace Context in 32 hexadecimal digits, or nil if the program set none.
    public var traceID: String?
    /// The span id in 16 hexadecimal digits, or nil if the program set none.
    public var spanID: String?
    /// The time at which the request began, as RFC 3339 in UTC.
    public var startTime: String
    /// The running time of the request at the time of the crash, in nanoseconds.
    ///
    /// The value is 0 if the request began after the crash, or if the clock was set back.
    public var age_ns: Int
    /// The tags that the program gave to the request, or nil if there are none.
    public var tags: [String: String]?
    /// In `inFlight`, the value is true if a thread crashed in this request; otherwise nil.
    public var crashed: Bool?

    /// Creates a request from its parts.
    public init(
      number: Int, operation: String, id: String? = nil, traceID: String? = nil, spanID: String? = nil,
      startTime: String, age_ns: Int, tags: [String: String]? = nil, crashed: Bool? = nil
    ) {
      (self.number, self.operation, self.id) = (number, operation, id)
      (self.traceID, self.spanID, self.startTime, self.age_ns) = (traceID, spanID, startTime, age_ns)
      (self.tags, self.crashed) = (tags, crashed)
    }
  }

  /// The requests that were running when crashd read the first crash of the process.
  public struct InFlight: Codable, Sendable, Equatable {
    /// The number of requests in the request table, a part of the process's ring.
    public var total: Int
    /// The number of requests since the process started that had no entry in the request table, because the table was
    /// full.
    ///
    /// These requests are not in `requests`.
    public var overflow: Int
    /// The requests in the table, oldest first.
    ///
    /// The list is empty in a preliminary report, and in a report that would otherwise exceed its size limit. In both
    /// cases, `total` is the number of requests that the report omits.
    public var requests: [Request]

    /// Creates a list from its parts.
    public init(total: Int, overflow: Int, requests: [Request]) {
      (self.total, self.overflow, self.requests) = (total, overflow, requests)
    }
  }

  /// The numbers of requests since the process started.
  public struct RequestCounts: Codable, Sendable, Equatable {
    /// The number of requests that began.
    public var begun: Int
    /// The number of requests that ended without an error.
    public var finished: Int
    /// The number of requests that ended by an error, by a trap, or at the end of a drain.
    public var failed: Int
    /// The number of requests that had begun and not ended when crashd read the ring.
    ///
    /// If the process has ended, these requests are lost.
    public var lost: Int
    /// The value is true if the library cannot find the request on which a thread is working, otherwise nil.
    ///
    /// In this case, the library does not support the way in which this Swift runtime stores task-local values.
    public var isLookupRefused: Bool?

    /// Creates counts from their parts.
    public init(begun: Int, finished: Int, failed: Int, lost: Int, isLookupRefused: Bool? = nil) {
      (self.begun, self.finished, self.failed, self.lost) = (begun, finished, failed, lost)
      self.isLookupRefused = isLookupRefused
    }
  }

  /// The request of the thread that crashed first, or nil if it had none.
  public var request: Request? { threads.first.flatMap { $0.crashed ? $0.request : nil } }

  /// Returns the id of the request with the given number, if the report contains this request and the request has an
  /// id.
  ///
  /// Otherwise returns the number.
  package func shortName(ofRequest number: Int) -> String {
    let request =
      threads.lazy.compactMap(\.request).first { $0.number == number }
      ?? inFlight?.requests.first { $0.number == number }
    return request?.id ?? "\(number)"
  }
}

internal import CrashReport

/// Calls crashd over its Varlink socket.
///
/// Each call connects, waits for the reply and hangs up; calls block, and may be made from any thread.
///
/// ```swift
/// let client = CrashClient(socketPath: "/run/crashd/io.crashshield.Crashd")
/// for summary in try client.list(ListQuery(limit: 10)) { print(summary.time, summary.sentence) }
/// ```
public struct CrashClient: Sendable {
  /// The path of the socket.
  public let socketPath: String
  /// How long a call may take.
  public let timeout: Duration
  /// The longest reply that is read.
  public let messageLimitBytes: Int

  /// Makes a client; nothing is connected yet.
  public init(socketPath: String, timeout: Duration = .seconds(30), messageLimitBytes: Int = 64 << 20) {
    self.socketPath = socketPath
    self.timeout = timeout
    self.messageLimitBytes = messageLimitBytes
  }

  /// Reports, newest first; one page of them, which the cursor of its last one continues.
  public func list(_ query: ListQuery = ListQuery()) throws(ClientError) -> [Summary] {
    try page(query).reports
  }

  /// The same, with how many more there are behind the last one if the query asks for it.
  public func page(_ query: ListQuery) throws(ClientError) -> ReportPage {
    try call("List", query, returning: ReportPage.self)
  }

  /// Groups, the one that was seen last first: of the query, `limit` and all that restricts count.
  ///
  /// `offset` groups are left out before the first: those of the previous pages. With `pid`, `unit` or `signal` only
  /// reports that were not removed are counted; a crashd that does not know them yet refuses these three.
  public func groups(_ query: ListQuery = ListQuery(), offset: Int? = nil) throws(ClientError) -> [Group] {
    struct Query: Encodable {
      var limit: Int?
      var offset: Int?
      var pid: Int?
      var name: String?
      var group: String?
      var unit: String?
      var signal: String?
      var executable: String?
      var since: String?
      var until: String?
    }
    struct Parameters: Decodable { var groups: [Group] }
    let wanted = Query(
      limit: query.limit, offset: offset, pid: query.pid, name: query.name, group: query.group, unit: query.unit,
      signal: query.signal, executable: query.executable, since: query.since, until: query.until)
    return try call("Groups", wanted, returning: Parameters.self).groups
  }

  /// Says of the group whose key begins with `key` whether it is mended.
  /// - Returns: The whole key.
  public func setResolved(_ isResolved: Bool, group key: String) throws(ClientError) -> String {
    struct Query: Encodable {
      var key: String
      var resolved: Bool
    }
    struct Parameters: Decodable { var key: String }
    return try call("ResolveGroup", Query(key: key, resolved: isResolved), returning: Parameters.self).key
  }

  /// The report whose id begins with `id`, the newest without one.
  ///
  /// Scrubbed, it comes without what the privacy rules of crashd's settings name; a crashd that cannot do so refuses.
  public func report(id: String? = nil, isScrubbed: Bool = false) throws(ClientError) -> ReceivedReport {
    struct Query: Encodable {
      var id: String?
      var scrub: Bool?
    }
    struct Parameters: Decodable { var report: ReceivedReport }
    return try call("Get", Query(id: id, scrub: isScrubbed ? true : nil), returning: Parameters.self).report
  }

  /// What each rule of the diagnosis says of the report whose id begins with `id`, of the newest without one.
  public func explain(id: String? = nil) throws(ClientError) -> Explanation {
    struct Query: Encodable { var id: String? }
    return try call("Explain", Query(id: id), returning: Explanation.self)
  }

  /// Analyses the report whose id begins with `id`, the newest without one, again.
  public func reanalyse(id: String? = nil) throws(ClientError) -> ReanalysedReport {
    struct Query: Encodable { var id: String? }
    return try call("Reanalyse", Query(id: id), returning: ReanalysedReport.self)
  }

  /// Opens a stream of reports: those stored after `cursor`, then new ones; without a cursor only new ones.
  ///
  /// With the name of a `subscriber` and no cursor: those that were never acknowledged under it. Where some of them were
  /// removed meanwhile, `ClientError.cursorExpired` says how many; `expired` begins with what is left all the same.
  public func subscribe(
    after cursor: String? = nil, subscriber: String? = nil, name: String? = nil, group: String? = nil,
    expired: Bool = false
  ) throws(ClientError) -> EventStream {
    try subscribe(ListQuery(name: name, group: group), after: cursor, subscriber: subscriber, expired: expired)
  }

  /// The same with every filter: of the query, all that restricts counts, and neither limits nor cursors.
  public func subscribe(
    _ filter: ListQuery, after cursor: String? = nil, subscriber: String? = nil, expired: Bool = false
  ) throws(ClientError) -> EventStream {
    struct Query: Encodable {
      var cursor: String?
      var subscriber: String?
      var pid: Int?
      var name: String?
      var group: String?
      var unit: String?
      var signal: String?
      var executable: String?
      var since: String?
      var until: String?
      var expired: Bool?
    }
    let query = Query(
      cursor: cursor, subscriber: subscriber, pid: filter.pid, name: filter.name, group: filter.group,
      unit: filter.unit, signal: filter.signal, executable: filter.executable, since: filter.since,
      until: filter.until, expired: expired ? true : nil)
    let connection = try connect()
    try connection.send(
      method: Self.method("Subscribe"), parameters: query, more: true, until: .after(timeout))
    return EventStream(connection: connection)
  }

  /// Says that everything up to `cursor` has arrived under a name.
  /// - Returns: How far the subscriber has come.
  @discardableResult
  public func acknowledge(_ cursor: String, subscriber: String) throws(ClientError) -> String {
    struct Query: Encodable {
      var subscriber: String
      var cursor: String
    }
    struct Parameters: Decodable { var cursor: String }
    return try call("Ack", Query(subscriber: subscriber, cursor: cursor), returning: Parameters.self).cursor
  }

  /// The classes that attached processes protect.
  public func protectedClasses(pid: Int? = nil, name: String? = nil) throws(ClientError) -> [ProtectedClass] {
    struct Query: Encodable {
      var pid: Int?
      var name: String?
    }
    struct Parameters: Decodable { var classes: [ProtectedClass] }
    return try call("ProtectedClasses", Query(pid: pid, name: name), returning: Parameters.self).classes
  }

  /// Processes that are attached now.
  public func processes() throws(ClientError) -> [AttachedProcess] {
    struct Parameters: Decodable { var processes: [AttachedProcess] }
    return try call("Processes", Nothing(), returning: Parameters.self).processes
  }

  /// Waits until what process `pid` has written is stored, all of it when the process has ended.
  public func awaitProcess(_ pid: Int, timeout: Duration = .seconds(10)) throws(ClientError) -> ProcessOutcome {
    struct Query: Encodable {
      var pid: Int
      var timeout_ms: Int
    }
    let query = Query(pid: pid, timeout_ms: Int(timeout / .milliseconds(1)))
    return try call("AwaitProcess", query, returning: ProcessOutcome.self, extra: timeout)
  }

  /// How crashd is.
  public func status() throws(ClientError) -> DaemonStatus {
    try call("Status", Nothing(), returning: DaemonStatus.self)
  }

  /// The same and more as OpenMetrics text.
  public func metrics() throws(ClientError) -> String {
    struct Parameters: Decodable { var text: String }
    return try call("Metrics", Nothing(), returning: Parameters.self).text
  }

  struct Nothing: Encodable {}

  private static func method(_ name: String) -> String { "io.crashshield.Crashd." + name }

  func connect() throws(ClientError) -> VarlinkConnection {
    let socket = try UnixSocket(connectingTo: socketPath, timeout: timeout)
    return VarlinkConnection(socket: socket, messageLimitBytes: messageLimitBytes)
  }

  func call<Parameters: Decodable>(
    _ name: String, _ parameters: some Encodable, returning type: Parameters.Type, extra: Duration = .zero
  ) throws(ClientError) -> Parameters {
    let deadline = Deadline.after(timeout + extra)
    let connection = try connect()
    try connection.send(method: Self.method(name), parameters: parameters, more: false, until: deadline)
    return try connection.receive(type, until: deadline).parameters
  }
}

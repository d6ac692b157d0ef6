public import CrashProtocol
internal import CrashReport

/// Calls crashd over its Varlink socket.
///
/// Each call connects, waits for the reply and hangs up; calls block, and may be made from any thread. The types of
/// parameters and replies are in `CrashProtocol`, which the product has, too: import both.
///
/// ```swift
/// import CrashClient
/// import CrashProtocol
///
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
  public func list(_ query: ListQuery = ListQuery()) throws(ClientError) -> [ReportSummary] {
    try page(query).reports
  }

  /// The same, with how many more there are behind the last one if the query asks for it.
  public func page(_ query: ListQuery) throws(ClientError) -> ReportPage {
    try call(Methods.List.self, query)
  }

  /// Groups, the one that was seen last first; `offset` groups are left out before the first: those of previous pages.
  ///
  /// With `pid`, `unit` or `signal` only reports that were not removed are counted; a crashd that does not know them yet
  /// refuses these three.
  public func groups(
    _ filter: ReportFilter = ReportFilter(), limit: Int? = nil, offset: Int? = nil
  ) throws(ClientError) -> [ReportGroup] {
    try call(Methods.Groups.self, Joined(.init(limit: limit, offset: offset), filter)).groups
  }

  /// Says of the group whose key begins with `key` whether it is mended.
  /// - Returns: The whole key.
  public func setResolved(_ isResolved: Bool, group key: String) throws(ClientError) -> String {
    try call(Methods.ResolveGroup.self, .init(key: key, resolved: isResolved)).key
  }

  /// The report whose id begins with `id`, the newest without one.
  ///
  /// Scrubbed, it comes without what the privacy rules of crashd's settings name; a crashd that cannot do so refuses.
  public func report(id: String? = nil, isScrubbed: Bool = false) throws(ClientError) -> ReceivedReport {
    try call(Methods.Get.self, .init(id: id, scrub: isScrubbed ? true : nil)).report
  }

  /// The stacks of the crashed threads of a report, as far as crashd has the record still; empty of an older crashd.
  public func stacks(id: String) throws(ClientError) -> [RecordedStack] {
    // The report is not read: one of a later version may be nothing that this one understands.
    try call(Methods.Get.self, .init(id: id, stacks: true), returning: GetReply<Unread>.self).stacks ?? []
  }

  /// Those of a report that came.
  public func stacks(of received: ReceivedReport) throws(ClientError) -> [RecordedStack] {
    try stacks(id: received.report.id)
  }

  /// What each rule of the diagnosis says of the report whose id begins with `id`, of the newest without one.
  public func explain(id: String? = nil) throws(ClientError) -> Explanation {
    try call(Methods.Explain.self, OptionalID(id: id))
  }

  /// Analyses the report whose id begins with `id`, the newest without one, again.
  public func reanalyse(id: String? = nil) throws(ClientError) -> ReanalysedReport {
    try call(Methods.Reanalyse.self, OptionalID(id: id))
  }

  /// Opens a stream of reports: those stored after `cursor`, then new ones; without a cursor only new ones.
  ///
  /// With the name of a `subscriber` and no cursor: those that were never acknowledged under it. Where some of them were
  /// removed meanwhile, `ProtocolError.cursorExpired` says how many; `expired` begins with what is left all the same.
  public func subscribe(
    after cursor: String? = nil, subscriber: String? = nil, name: String? = nil, group: String? = nil,
    expired: Bool = false
  ) throws(ClientError) -> EventStream {
    try subscribe(ReportFilter(name: name, group: group), after: cursor, subscriber: subscriber, expired: expired)
  }

  /// The same with every filter.
  public func subscribe(
    _ filter: ReportFilter, after cursor: String? = nil, subscriber: String? = nil, expired: Bool = false
  ) throws(ClientError) -> EventStream {
    let own = Methods.Subscribe.Own(cursor: cursor, subscriber: subscriber, expired: expired ? true : nil)
    let connection = try connect()
    try connection.send(
      method: Self.method(Methods.Subscribe.name), parameters: Joined(own, filter), more: true, until: .after(timeout))
    return EventStream(connection: connection)
  }

  /// Opens a stream of incidents: those stored, or whose count grew, after `cursor`, then new ones; without a cursor those since
  /// the filter's `since`, and without that new ones only.
  ///
  /// - Parameters:
  ///   - filter: Which incidents.
  ///   - cursor: That of a page of an earlier stream.
  /// - Returns: The stream.
  /// - Throws: What kept it from beginning.
  public func followIncidents(
    _ filter: IncidentFilter = IncidentFilter(), after cursor: String? = nil
  ) throws(ClientError) -> IncidentStream {
    let connection = try connect()
    try connection.send(
      method: Self.method(Methods.Incidents.name), parameters: IncidentQuery(cursor: cursor, filter: filter),
      more: true,
      until: .after(timeout))
    return IncidentStream(connection: connection)
  }

  /// Says that everything up to `cursor` has arrived under a name.
  /// - Returns: How far the subscriber has come.
  @discardableResult
  public func acknowledge(_ cursor: String, subscriber: String) throws(ClientError) -> String {
    try call(Methods.Ack.self, .init(subscriber: subscriber, cursor: cursor)).cursor
  }

  /// The classes that attached processes protect.
  public func protectedClasses(pid: Int? = nil, name: String? = nil) throws(ClientError) -> [ProtectedClassReport] {
    try call(Methods.ProtectedClasses.self, .init(pid: pid, name: name)).classes
  }

  /// Processes that are attached now.
  public func processes() throws(ClientError) -> [ProcessSummary] {
    try call(Methods.Processes.self, NoParameters()).processes
  }

  /// Waits until what process `pid` has written is stored, all of it when the process has ended.
  public func awaitProcess(_ pid: Int, timeout: Duration = .seconds(10)) throws(ClientError) -> ProcessOutcome {
    try call(
      Methods.AwaitProcess.self, .init(pid: pid, timeout_ms: Int(timeout / .milliseconds(1))), extra: timeout)
  }

  /// How crashd is.
  public func status() throws(ClientError) -> DaemonStatus {
    try call(Methods.Status.self, NoParameters())
  }

  /// The same and more as OpenMetrics text.
  public func metrics() throws(ClientError) -> String {
    try call(Methods.Metrics.self, NoParameters()).text
  }

  private static func method(_ name: String) -> String { "\(Methods.interface).\(name)" }

  func connect() throws(ClientError) -> VarlinkConnection {
    let socket = try UnixSocket(connectingTo: socketPath, timeout: timeout)
    return VarlinkConnection(socket: socket, messageLimitBytes: messageLimitBytes)
  }

  func call<M: Method>(
    _ method: M.Type, _ parameters: M.Parameters, extra: Duration = .zero
  ) throws(ClientError) -> M.Reply {
    try call(method, parameters, returning: M.Reply.self, extra: extra)
  }

  /// Calls a method, and reads its reply as another type than the method's own.
  private func call<M: Method, Reply: Decodable>(
    _: M.Type, _ parameters: M.Parameters, returning _: Reply.Type, extra: Duration = .zero
  ) throws(ClientError) -> Reply {
    let deadline = Deadline.after(timeout + extra)
    let connection = try connect()
    try connection.send(method: Self.method(M.name), parameters: parameters, more: false, until: deadline)
    return try connection.receive(Reply.self, until: deadline).parameters
  }
}

/// Any JSON, left as it is.
private struct Unread: Decodable {
  init(from _: any Decoder) {}
}

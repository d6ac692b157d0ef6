public import CrashProtocol
internal import CrashReport

/// A client of crashd's Varlink interface.
///
/// Each call connects, waits for the reply and disconnects; calls block. Any thread. The types of parameters and
/// replies are in `CrashProtocol`, which the product contains, too: import both.
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
  /// The timeout of a call.
  public let timeout: Duration
  /// The maximum size of a reply.
  public let messageLimitBytes: Int

  /// Creates a client, without connecting.
  public init(socketPath: String, timeout: Duration = .seconds(30), messageLimitBytes: Int = 64 << 20) {
    self.socketPath = socketPath
    self.timeout = timeout
    self.messageLimitBytes = messageLimitBytes
  }

  /// A page of reports, newest first; the cursor of its last report continues the list.
  public func list(_ query: ListQuery = ListQuery()) throws(ClientError) -> [ReportSummary] {
    try page(query).reports
  }

  /// A page of reports, with the number of older ones if the query asks for it.
  public func page(_ query: ListQuery) throws(ClientError) -> ReportPage {
    try call(Methods.List.self, query)
  }

  /// Groups, the one seen last first; `offset` skips the groups of previous pages.
  ///
  /// With `pid`, `unit` or `signal`, the counts exclude removed reports; an older crashd refuses these three.
  public func groups(
    _ filter: ReportFilter = ReportFilter(), limit: Int? = nil, offset: Int? = nil
  ) throws(ClientError) -> [ReportGroup] {
    try groups(GroupQuery(limit: limit, offset: offset), filter)
  }

  /// Groups in some states, in an order; an older crashd refuses both.
  public func groups(_ query: GroupQuery, _ filter: ReportFilter = ReportFilter()) throws(ClientError) -> [ReportGroup]
  {
    try call(Methods.Groups.self, Joined(query, filter)).groups
  }

  /// The group whose key begins with `key`, with its crashes by build and by day.
  public func group(key: String) throws(ClientError) -> GroupDetail {
    try call(Methods.GetGroup.self, .init(key: key))
  }

  /// Marks the group whose key begins with `key` as resolved, or reopens it.
  /// - Returns: The whole key.
  public func setResolved(_ isResolved: Bool, group key: String) throws(ClientError) -> String {
    try call(Methods.ResolveGroup.self, .init(key: key, resolved: isResolved)).key
  }

  /// The report whose id begins with `id`; the newest without one.
  ///
  /// With scrubbing, crashd applies the privacy rules of its settings; an older crashd refuses that.
  public func report(id: String? = nil, isScrubbed: Bool = false) throws(ClientError) -> ReceivedReport {
    try call(Methods.Get.self, .init(id: id, scrub: isScrubbed ? true : nil)).report
  }

  /// The stacks of the crashing threads of a report, if crashd still has the record; empty from an older crashd.
  public func stacks(id: String) throws(ClientError) -> [RecordedStack] {
    // Skip the report: this version may not be able to decode one of a later version.
    try call(Methods.Get.self, .init(id: id, stacks: true), returning: GetReply<Unread>.self).stacks ?? []
  }

  /// The stacks of a received report.
  public func stacks(of received: ReceivedReport) throws(ClientError) -> [RecordedStack] {
    try stacks(id: received.report.id)
  }

  /// The results of all diagnosis rules for the report whose id begins with `id`; for the newest without one.
  public func explain(id: String? = nil) throws(ClientError) -> Explanation {
    try call(Methods.Explain.self, OptionalID(id: id))
  }

  /// Analyzes the report whose id begins with `id` again; the newest without one.
  public func reanalyse(id: String? = nil) throws(ClientError) -> ReanalysedReport {
    try call(Methods.Reanalyse.self, OptionalID(id: id))
  }

  /// Opens a stream of reports: those stored after `cursor`, then new ones; without a cursor only new ones.
  ///
  /// With the name of a `subscriber` and no cursor, it starts after that subscriber's last acknowledgement. If some
  /// reports were removed meanwhile, it throws `ProtocolError.cursorExpired` with their number; `expired` starts with
  /// the remaining ones instead.
  public func subscribe(
    after cursor: String? = nil, subscriber: String? = nil, name: String? = nil, group: String? = nil,
    expired: Bool = false
  ) throws(ClientError) -> EventStream {
    try subscribe(ReportFilter(name: name, group: group), after: cursor, subscriber: subscriber, expired: expired)
  }

  /// Opens a stream of reports with any filter.
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
  /// - Throws: The reason why it did not begin.
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

  /// Acknowledges all events up to `cursor` for a subscriber.
  /// - Returns: The subscriber's position.
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

  /// Waits until crashd has stored the crashes that process `pid` has recorded; all of them if the process has ended.
  public func awaitProcess(_ pid: Int, timeout: Duration = .seconds(10)) throws(ClientError) -> ProcessOutcome {
    try call(
      Methods.AwaitProcess.self, .init(pid: pid, timeout_ms: Int(timeout / .milliseconds(1))), extra: timeout)
  }

  /// crashd's health and counters.
  public func status() throws(ClientError) -> DaemonStatus {
    try call(Methods.Status.self, NoParameters())
  }

  /// crashd's metrics as OpenMetrics text.
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

  /// Calls a method, and decodes its reply as another type than the method's own.
  private func call<M: Method, Reply: Decodable>(
    _: M.Type, _ parameters: M.Parameters, returning _: Reply.Type, extra: Duration = .zero
  ) throws(ClientError) -> Reply {
    let deadline = Deadline.after(timeout + extra)
    let connection = try connect()
    try connection.send(method: Self.method(M.name), parameters: parameters, more: false, until: deadline)
    return try connection.receive(Reply.self, until: deadline).parameters
  }
}

/// Any JSON value.
private struct Unread: Decodable {
  init(from _: any Decoder) {}
}

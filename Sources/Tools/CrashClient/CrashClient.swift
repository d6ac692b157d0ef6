public import CrashProtocol
internal import CrashReport

/// A client of crashd's Varlink interface.
///
/// Each call connects, waits for the reply and disconnects. Calls block, and may be made from any thread. The types of
/// parameters and replies are in the module `CrashProtocol`, which belongs to the same product. Import both modules.
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

  /// Returns a page of reports, newest first.
  ///
  /// To get the next page, set `before` of the query to the cursor of the last report.
  public func list(_ query: ListQuery = ListQuery()) throws(ClientError) -> [ReportSummary] {
    try page(query).reports
  }

  /// Returns a page of reports.
  ///
  /// Also returns the number of reports that are older than the page, if the query requests this number.
  public func page(_ query: ListQuery) throws(ClientError) -> ReportPage {
    try call(Methods.List.self, query)
  }

  /// Returns groups, the most recently seen group first.
  ///
  /// `offset` is the number of groups in the previous pages, which are skipped.
  ///
  /// If the filter has `pid`, `unit` or `signal`, the counts exclude removed reports. A crashd version that does not
  /// support these filters refuses the call.
  public func groups(
    _ filter: ReportFilter = ReportFilter(), limit: Int? = nil, offset: Int? = nil
  ) throws(ClientError) -> [ReportGroup] {
    try groups(GroupQuery(limit: limit, offset: offset), filter)
  }

  /// Returns groups in the given states and order.
  ///
  /// A crashd version that does not support states and orders refuses a query that has one of them.
  public func groups(_ query: GroupQuery, _ filter: ReportFilter = ReportFilter()) throws(ClientError) -> [ReportGroup]
  {
    try call(Methods.Groups.self, Joined(query, filter)).groups
  }

  /// Returns the group whose key begins with `key`, with its crashes by build and by day.
  public func group(key: String) throws(ClientError) -> GroupDetail {
    try call(Methods.GetGroup.self, .init(key: key))
  }

  /// Returns the properties that distinguish the group whose key begins with `key` from the other crashes of its
  /// programs.
  ///
  /// A crashd version without this method refuses the call.
  public func contrast(key: String) throws(ClientError) -> GroupContrast {
    try call(Methods.ContrastGroup.self, .init(key: key))
  }

  /// Returns the numbers of crashes by hour, the latest hour first.
  ///
  /// With `groups` (keys of groups), returns separate numbers for each group. Without `groups`, each number includes
  /// all groups. The filter applies as in `groups(_:limit:offset:)`.
  /// - Throws: `ClientError`; `methodNotFound` from a crashd version without this method.
  public func hours(
    of groups: [String]? = nil, _ filter: ReportFilter = ReportFilter()
  ) throws(ClientError) -> [HourCount] {
    try call(Methods.Hours.self, Joined(.init(groups: groups), filter)).hours
  }

  /// Marks the group whose key begins with `key` as resolved, or reopens it.
  /// - Returns: The full key.
  public func setResolved(_ isResolved: Bool, group key: String) throws(ClientError) -> String {
    try call(Methods.ResolveGroup.self, .init(key: key, resolved: isResolved)).key
  }

  /// Returns the report whose id begins with `id`, or the newest report if `id` is nil.
  ///
  /// With `isScrubbed`, crashd applies the privacy rules of its settings. A crashd version without this parameter
  /// refuses the call.
  public func report(id: String? = nil, isScrubbed: Bool = false) throws(ClientError) -> ReceivedReport {
    try call(Methods.Get.self, .init(id: id, scrub: isScrubbed ? true : nil)).report
  }

  /// Returns the stacks of a report's crashing threads, if crashd still has the record.
  ///
  /// A crashd version without this feature does not return stacks.
  public func stacks(id: String) throws(ClientError) -> [RecordedStack] {
    // Decode only the stacks. The report itself can have the format of a later version, which this version cannot
    // decode.
    try call(Methods.Get.self, .init(id: id, stacks: true), returning: GetReply<Unread>.self).stacks ?? []
  }

  /// Returns the stacks of a received report's crashing threads, if crashd still has the record.
  public func stacks(of received: ReceivedReport) throws(ClientError) -> [RecordedStack] {
    try stacks(id: received.report.id)
  }

  /// Returns the results of all diagnosis rules for the report whose id begins with `id`, or for the newest report.
  public func explain(id: String? = nil) throws(ClientError) -> Explanation {
    try call(Methods.Explain.self, OptionalID(id: id))
  }

  /// Analyzes the report whose id begins with `id` again, or the newest report.
  public func reanalyse(id: String? = nil) throws(ClientError) -> ReanalysedReport {
    try call(Methods.Reanalyse.self, OptionalID(id: id))
  }

  /// Stores the crash that a record line contains.
  ///
  /// A process prints this line if it can reach no crashd. `record` is the record line without the text that a log adds
  /// in front of it or behind it. The report belongs to the caller's uid. A crash that crashd already has is not stored
  /// again.
  public func importRecord(_ record: String) throws(ClientError) -> ImportedRecord {
    // Wait longer, because crashd answers only after it has read the symbols of the crash.
    try call(Methods.Import.self, .init(record: record), extra: .seconds(300))
  }

  /// Opens a stream of reports: the reports stored after `cursor`, then new reports.
  ///
  /// Without a cursor, the stream has only new reports.
  ///
  /// With the name of a `subscriber` and no cursor, the stream starts after that subscriber's last acknowledgement. If
  /// reports after this position were removed before they were read, the call throws `ProtocolError.cursorExpired` with
  /// their number. With `expired`, the call does not throw this error, and the stream starts with the remaining
  /// reports.
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

  /// Opens a stream of the incidents that were stored after `cursor`, or whose count increased after it.
  ///
  /// Without a cursor, the stream starts at the filter's `since`. Without a cursor and `since`, the stream has only new
  /// incidents.
  ///
  /// - Parameters:
  ///   - filter: The filter that incidents must match.
  ///   - cursor: The cursor of a page of an earlier stream.
  /// - Returns: The stream.
  /// - Throws: `ClientError` if the stream did not begin.
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

  /// Acknowledges all events up to `cursor` on behalf of a subscriber.
  /// - Returns: The subscriber's position.
  @discardableResult
  public func acknowledge(_ cursor: String, subscriber: String) throws(ClientError) -> String {
    try call(Methods.Ack.self, .init(subscriber: subscriber, cursor: cursor)).cursor
  }

  /// Returns the classes that attached processes protect.
  public func protectedClasses(pid: Int? = nil, name: String? = nil) throws(ClientError) -> [ProtectedClassReport] {
    try call(Methods.ProtectedClasses.self, .init(pid: pid, name: name)).classes
  }

  /// Returns the attached processes.
  public func processes() throws(ClientError) -> [ProcessSummary] {
    try call(Methods.Processes.self, NoParameters()).processes
  }

  /// Waits until crashd has stored the crashes that process `pid` has recorded.
  ///
  /// If the process has ended, all of its crashes are stored when the call returns.
  public func awaitProcess(_ pid: Int, timeout: Duration = .seconds(10)) throws(ClientError) -> ProcessOutcome {
    try call(
      Methods.AwaitProcess.self, .init(pid: pid, timeout_ms: Int(timeout / .milliseconds(1))), extra: timeout)
  }

  /// Returns crashd's health and counters.
  public func status() throws(ClientError) -> DaemonStatus {
    try call(Methods.Status.self, NoParameters())
  }

  /// Returns crashd's metrics as OpenMetrics text.
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

  /// Calls a method, and decodes the reply as the given type instead of the method's reply type.
  private func call<M: Method, Reply: Decodable>(
    _: M.Type, _ parameters: M.Parameters, returning _: Reply.Type, extra: Duration = .zero
  ) throws(ClientError) -> Reply {
    let deadline = Deadline.after(timeout + extra)
    let connection = try connect()
    try connection.send(method: Self.method(M.name), parameters: parameters, more: false, until: deadline)
    return try connection.receive(Reply.self, until: deadline).parameters
  }
}

/// Accepts any JSON value, and discards it.
private struct Unread: Decodable {
  init(from _: any Decoder) {}
}

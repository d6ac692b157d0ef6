public import CrashProtocol
internal import CrashReport

/// Formats the screen of `top`.
public struct TopText: Sendable {
  /// The health of crashd, for the first lines of the screen.
  public var status: DaemonStatus
  /// The groups with crashes in the displayed period.
  public var groups: [ReportGroup]
  /// The newest crashes, starting with the newest.
  public var reports: [ReportSummary]
  /// The displayed period, as text.
  public var period: String
  /// The sort order of the groups.
  public var order: GroupQuery.Order

  /// Creates the screen from crashd's replies.
  ///
  /// The groups must already be sorted.
  public init(
    status: DaemonStatus, groups: [ReportGroup], reports: [ReportSummary], period: String,
    order: GroupQuery.Order = .count
  ) {
    self.status = status
    self.groups = groups
    self.reports = reports
    self.period = period
    self.order = order
  }

  /// Returns the screen's text, limited to the number of lines of the terminal.
  ///
  /// If `rows` is nil, returns all lines.
  public func text(_ terminal: Terminal, rows: Int?) -> String {
    var lines = head(terminal)
    let most = rows.map { max(1, $0) } ?? Int.max
    // The groups use at most the upper two thirds of the screen, and the newest crashes use the rest.
    let count = groups.reduce(0) { $0 + $1.count }
    lines.append("")
    let words = "\(count == 1 ? "crash" : "crashes") of \(groups.count) \(groups.count == 1 ? "kind" : "kinds")"
    lines.append(
      terminal.styled("\(Listings.grouped(count)) \(words) \(period)", .bold)
        + terminal.styled(rows == nil ? "" : ", by \(order.rawValue)", .dim))
    let room = rows.map { max(3, ($0 - lines.count) * 2 / 3) } ?? Int.max
    let shown = Array(groups.prefix(max(1, room - 2)))
    lines += Self.lines(Listings.groups(shown, terminal: terminal, legend: true), groups)
    lines.append("")
    lines.append(terminal.styled("The newest", .bold))
    lines += Self.lines(Listings.reports(reports, terminal: terminal, legend: true), reports)
    return lines.prefix(most).map { $0 + "\n" }.joined()
  }

  private func head(_ terminal: Terminal) -> [String] {
    let running = status.processes - status.ending
    var lines = [
      "crashd \(CleanText.line(status.version)), up \(Listings.duration(status.uptimeSeconds)), "
        + "\(running) \(running == 1 ? "process" : "processes") attached, \(Listings.grouped(status.reports)) reports"
        + (status.storeBytes > 0 ? ", " + Listings.size(status.storeBytes) : "")
    ]
    let verdict = StatusText.Verdict(status)
    if verdict != .ok { lines.append(terminal.styled("\(verdict.rawValue): see crashctl status", .red)) }
    lines += (status.trouble ?? []).map { terminal.styled(CleanText.line($0), .red) }
    return lines
  }

  /// Returns a table's lines.
  ///
  /// If the table has no rows, returns the line `none` instead.
  private static func lines(_ table: String, _ rows: some Collection) -> [String] {
    rows.isEmpty ? ["none"] : table.split(separator: "\n").map(String.init)
  }
}

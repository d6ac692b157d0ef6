public import CrashProtocol
public import CrashReport

// A filter for reports that no row has: what `ReportConditions` asks of SQLite.
extension ReportFilter {
  /// Whether a list with this filter and visibility shows the report.
  public func includes(_ report: CrashReport, visibility: Visibility) -> Bool {
    let process = report.process
    if let uid = visibility.uid, uid != process.ownerKey { return false }
    if let pid, pid != process.pid { return false }
    if let name, !process.name.contains(name) { return false }
    if let group, !report.groups.contains(where: { $0.key.hasPrefix(group) }) { return false }
    if let unit, unit != process.unit { return false }
    if let signal, signal != report.signal.name { return false }
    if let executable, !process.executable.contains(executable) { return false }
    if let since, report.time < since { return false }
    if let until, report.time > until { return false }
    return true
  }
}

import CrashClient
import CrashProtocol
import CrashReport

/// Facts that are not visible from outside the process, from the report of the program's last crash.
struct LastCrashFacts {
  private var report: CrashReport?

  /// Requests the last crash report of an executable from crashd.
  init(executable: String?, client: CrashClient) {
    guard let executable,
      let query = try? client.list(ListQuery(limit: 1, filter: ReportFilter(executable: executable))),
      let last = query.first, last.executable == executable
    else { return }
    report = try? client.report(id: last.id).report
  }

  /// Whether other code has replaced the shield's signal handlers.
  ///
  /// `/proc` shows that a signal has a handler, but not which code installed it.
  var handlers: Finding {
    guard let report else {
      return Finding(
        .note, "replaced",
        "whether other code has replaced a handler is not visible from outside; the report of a crash "
          + "shows it")
    }
    let id = String(report.id.prefix(12))
    guard let handlers = report.replacedHandlers, !handlers.isEmpty else {
      return Finding(.note, "replaced", "no signal handler was replaced at the program's last crash (\(id))")
    }
    let list = handlers.map { handler in
      handler.kind == .handler
        ? "\(handler.signal) by \(handler.image ?? "unknown code")" : "\(handler.signal) back to \(handler.kind)"
    }
    return Finding(
      .warning, "replaced",
      "signal handlers were replaced at the program's last crash (\(id)): \(list.joined(separator: ", "))",
      remedy: "start the shield after that code, or let it call the replaced handler")
  }

  /// Returns a finding if the shield could not read the requests of tasks.
  var requests: Finding? {
    guard let report, report.process.requests?.isLookupRefused == true else { return nil }
    return Finding(
      .warning, "requests",
      "at the program's last crash (\(report.id.prefix(12))), crashes in tasks could not name their request: the layout "
        + "of tasks in its Swift runtime is not known", remedy: "link a later release of the shield")
  }
}

import CrashClient
import CrashProtocol
import CrashReport

/// Whether other code has taken a signal from the shield's handlers: `/proc` shows that there is one, and not whose, so
/// the program's last crash is asked, whose record has it.
struct HandlerFacts {
  private var report: CrashReport?

  /// Asks for the last crash of an executable.
  init(executable: String?, client: CrashClient) {
    guard let executable,
      let query = try? client.list(ListQuery(limit: 1, filter: ReportFilter(executable: executable))),
      let last = query.first, last.executable == executable
    else { return }
    report = try? client.report(id: last.id).report
  }

  var finding: Finding {
    guard let report else {
      return Finding(
        .note, "taken over",
        "whether another function has taken over a handler since cannot be seen from outside; the report of a crash "
          + "says it")
    }
    let id = String(report.id.prefix(12))
    guard let handlers = report.replacedHandlers, !handlers.isEmpty else {
      return Finding(.note, "taken over", "at the program's last crash, \(id), no handler had been taken over")
    }
    let list = handlers.map { handler in
      handler.kind == .handler
        ? "\(handler.signal) by \(handler.image ?? "unknown code")" : "\(handler.signal) back to \(handler.kind)"
    }
    return Finding(
      .warning, "taken over",
      "at the program's last crash, \(id), handlers had been taken over: \(list.joined(separator: ", "))",
      remedy: "start the shield after whatever does so, or have it call the handler that was there before")
  }
}

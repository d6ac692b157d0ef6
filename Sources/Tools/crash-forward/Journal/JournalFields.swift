import CrashReport

extension JournalEntry {
  /// The message id of all crashes in this format, for `journalctl MESSAGE_ID=…`.
  static let messageID = "3d0a5c1b7c1e4a86b4f0a2a9d1e6c7f4"
  /// The message id of systemd-coredump's entries (`SD_MESSAGE_COREDUMP`), by which coredumpctl finds them.
  static let coredumpMessageID = "fc2e22bc6ee647b6b90729ab34a250b1"

  /// Creates the entry of a crash.
  ///
  /// `json` is the whole report, or nil if the entry must not contain it.
  init(_ report: CrashReport, json: String?) {
    let (frame, process, signal) = (report.blamedFrame, report.process, report.signal)
    add("MESSAGE", report.headline + "\n\n" + report.stackText(limit: 64))
    add("MESSAGE_ID", Self.messageID)
    // The priority 2 is LOG_CRIT, which systemd-coredump uses, too.
    add("PRIORITY", 2)
    add("SYSLOG_IDENTIFIER", "crash-forward")
    add("CRASH_ID", report.id)
    add("CRASH_TIME", report.time)
    add("CRASH_GROUP", report.group.key)
    add("CRASH_GROUP_TITLE", report.group.title)
    add("CRASH_SIGNAL", signal.name)
    add("CRASH_SIGNAL_NUMBER", signal.number)
    add("CRASH_SIGNAL_CODE", signal.codeName)
    add("CRASH_ADDRESS", signal.address?.description)
    add("CRASH_REASON", report.reason)
    add("CRASH_CAUSE", report.diagnosis.cause.rawValue)
    add("CRASH_CLASS", report.diagnosis.objectClass)
    add("CRASH_SENTENCE", report.diagnosis.sentence)
    add("CRASH_PID", process.pid)
    add("CRASH_TID", report.mainThread?.tid)
    add("CRASH_UID", process.uid)
    add("CRASH_NAME", process.name)
    add("CRASH_EXE", process.executable)
    add("CRASH_BUILD_ID", process.buildID)
    add("CRASH_UNIT", process.unit)
    add("CRASH_RELEASE", report[.release])
    add("CRASH_ENVIRONMENT", report[.environment])
    add("CRASH_USER", report[.user])
    add("CRASH_REQUEST", report.request?.operation)
    add("CRASH_REQUEST_ID", report.request?.id)
    add("CRASH_TRACE_ID", report.request?.traceID)
    add("CRASH_SPAN_ID", report.request?.spanID)
    add("CRASH_REQUESTS_IN_FLIGHT", report.inFlight?.total)
    add("CRASH_CONTAINMENT", report.containmentText)
    add("CRASH_VERDICT", report.containment?.verdict?.rawValue)
    add("CRASH_DRAIN_END", report.containment?.drain?.endedBy?.rawValue)
    add("CRASH_HOST", report.machine?.host)
    add("CRASH_MACHINE_ID", report.machine?.id)
    add("CRASH_KERNEL", report.machine?.kernel)
    add("CRASH_CMDLINE", process.commandLine)
    add("CRASH_CGROUP", process.cgroup)
    add("CRASH_CONTAINER_ID", report.container?.id)
    add("CRASH_CONTAINER_RUNTIME", report.container?.runtime)
    add("CRASH_CONTAINER_NAME", report.container?.name)
    add("CRASH_POD", report.container?.pod)
    add("CRASH_POD_UID", report.container?.podUID)
    add("CRASH_NAMESPACE", report.container?.namespace)
    add("CRASH_NODE", report.container?.node)
    add("CRASH_SWIFT_VERSION", process.swiftVersion)
    add("CRASH_ARCHITECTURE", process.architecture)
    add("CRASH_UPTIME_MS", process.uptime_ms)
    add("CRASH_MEMORY", report.resources?.residentBytes)
    add("CRASH_MEMORY_PEAK", report.resources?.peakResidentBytes)
    add("CRASH_MEMORY_LIMIT", report.resources?.memoryLimitBytes)
    add("CRASH_OPEN_FDS", report.resources?.openDescriptors)
    add("CRASH_FUNCTION", frame?.name)
    add("CRASH_FILE", frame?.file)
    add("CRASH_LINE", frame?.line)
    add("CRASH_STACK", report.stackText())
    add("CRASH_REPORT", json)
  }

  /// Creates an entry with the fields that coredumpctl shows.
  ///
  /// The entry does not name a core file.
  init(coredumpOf report: CrashReport) {
    let process = report.process
    add("MESSAGE", "Process \(process.pid) (\(process.name)) of user \(process.uid) crashed.\n\n" + report.stackText())
    add("MESSAGE_ID", Self.coredumpMessageID)
    add("PRIORITY", 2)
    add("SYSLOG_IDENTIFIER", "crash-forward")
    add("CRASH_ID", report.id)
    add("COREDUMP_PID", process.pid)
    add("COREDUMP_UID", process.uid)
    add("COREDUMP_SIGNAL", report.signal.number)
    add("COREDUMP_SIGNAL_NAME", report.signal.name)
    add("COREDUMP_TIMESTAMP", Timestamp.nanoseconds(rfc3339: report.time).map { "\($0 / 1_000)" })
    add("COREDUMP_COMM", process.name)
    // Add only an absolute path, because coredumpctl passes this path to a debugger.
    if process.executable.hasPrefix("/") { add("COREDUMP_EXE", process.executable) }
    add("COREDUMP_UNIT", process.unit)
    add("COREDUMP_HOSTNAME", report.machine?.host)
    add("COREDUMP_CMDLINE", process.commandLine)
    add("COREDUMP_CGROUP", process.cgroup)
  }
}

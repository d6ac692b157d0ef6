import CrashReport
import CrashRing

/// The facts about a process and its machine that crashd adds to the contents of the ring in a crash report.
///
/// Most of these facts can be read only while the process is attached. For a process whose ring comes from the spool,
/// they are nil.
struct ProcessContext: Sendable, Equatable {
  var machine: CrashReport.Machine?
  var container: CrashReport.Container?
  var cgroup: String?
  /// The command line, in which the scrubber has replaced secrets.
  var commandLine: String?
  var resources: CrashReport.Resources?
  /// The requests that an earlier analysis stored; nil if it stored none.
  var requests: Requests?
  /// The control groups that limit the memory of the process.
  var memoryLimit: MemoryLimit?

  /// The numbers of requests and the requests in flight, as the first analysis of the crash read them.
  struct Requests: Sendable, Equatable {
    var counts: CrashReport.RequestCounts
    var inFlight: CrashReport.InFlight
  }

  private static let cgroupLimit = 512

  init(machine: CrashReport.Machine? = nil) { self.machine = machine }

  /// Makes the context of a process from the text of `/proc/PID/cgroup`.
  init(machine: CrashReport.Machine?, cgroups text: String) {
    self.machine = machine
    container = ContainerName.of(cgroups: text)
    memoryLimit = MemoryLimit(cgroups: text)
    let groups = ControlGroup.list(text)
    let known = ["", "name=systemd", "memory"].compactMap { name in
      groups.first { $0.controllers == name || $0.controllers.split(separator: ",").contains(name[...]) }
    }
    cgroup = MachineFacts.text((known.first { $0.path != "/" } ?? known.first)?.path, limit: Self.cgroupLimit)
  }

  /// Makes the context of a process from a report that was stored earlier.
  init(_ report: CrashReport) {
    (machine, container, resources) = (report.machine, report.container, report.resources)
    (cgroup, commandLine) = (report.process.cgroup, report.process.commandLine)
    if let counts = report.process.requests, let inFlight = report.inFlight {
      requests = Requests(counts: counts, inFlight: inFlight)
    }
  }

  /// Returns a copy of this context in which values from a later reading replace missing values.
  func added(to later: ProcessContext) -> ProcessContext {
    var context = self
    context.machine = machine ?? later.machine
    context.container = container.map { $0.added(to: later.container) } ?? later.container
    context.cgroup = cgroup ?? later.cgroup
    context.commandLine = commandLine ?? later.commandLine
    context.resources = resources ?? later.resources
    context.requests = requests ?? later.requests
    context.memoryLimit = later.memoryLimit
    return context
  }
}

extension ReportBuilder {
  /// Adds the context to a report.
  func putContext(into report: inout CrashReport) {
    (report.machine, report.resources) = (context.machine, context.resources)
    report.container = .merged(context.container, claims: report.annotations)
    report.process.cgroup = context.cgroup
    report.process.swiftVersion = process.identity.swiftVersion
    // The arguments of a process are a part of its memory. Therefore, a report that must not contain memory has no
    // command line.
    let isWithheld = [.none, .withheld].contains(contents.memory.mode) || report.process.isRestricted == true
    report.process.commandLine = isWithheld ? nil : context.commandLine
    report.noteUptime()
  }
}

extension CrashReport {
  /// Sets how long the process had run: the difference between the time of the report and the process's start time.
  mutating func noteUptime() {
    process.uptime_ms = nil
    guard let start = Moment(rfc3339: process.startTime), let end = Moment(rfc3339: time), start.nanoseconds > 0,
      end.nanoseconds >= start.nanoseconds
    else { return }
    process.uptime_ms = Int((end.nanoseconds - start.nanoseconds) / 1_000_000)
  }
}

import CrashReport
import CrashRing

/// What a report says of the place where its process ran, beside what the ring says.
///
/// Only a process that is there has most of it: a ring from the spool says nothing then.
struct ProcessContext: Sendable, Equatable {
  var machine: CrashReport.Machine?
  var container: CrashReport.Container?
  var cgroup: String?
  /// Scrubbed.
  var commandLine: String?
  var resources: CrashReport.Resources?
  /// Where the limit of its memory stands.
  var memoryLimit: MemoryLimit?

  private static let cgroupLimit = 512

  init(machine: CrashReport.Machine? = nil) { self.machine = machine }

  /// By `/proc/PID/cgroup`.
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

  /// What an earlier analysis has stored.
  init(_ report: CrashReport) {
    (machine, container, resources) = (report.machine, report.container, report.resources)
    (cgroup, commandLine) = (report.process.cgroup, report.process.commandLine)
  }

  /// The same, and what only a later reading knows.
  func added(to later: ProcessContext) -> ProcessContext {
    var context = self
    context.machine = machine ?? later.machine
    context.container = container ?? later.container
    context.cgroup = cgroup ?? later.cgroup
    context.commandLine = commandLine ?? later.commandLine
    context.resources = resources ?? later.resources
    context.memoryLimit = later.memoryLimit
    return context
  }
}

extension ReportBuilder {
  /// Adds the context to a report.
  func putContext(into report: inout CrashReport) {
    (report.machine, report.container, report.resources) = (context.machine, context.container, context.resources)
    report.process.cgroup = context.cgroup
    report.process.swiftVersion = process.identity.swiftVersion
    // Arguments are memory of the process, too.
    let isWithheld = [.none, .withheld].contains(contents.memory.mode) || report.process.isRestricted == true
    report.process.commandLine = isWithheld ? nil : context.commandLine
    report.noteUptime()
  }
}

extension CrashReport {
  /// Sets how long the process had run, by its times.
  mutating func noteUptime() {
    process.uptime_ms = nil
    guard let start = Moment(rfc3339: process.startTime), let end = Moment(rfc3339: time), start.nanoseconds > 0,
      end.nanoseconds >= start.nanoseconds
    else { return }
    process.uptime_ms = Int((end.nanoseconds - start.nanoseconds) / 1_000_000)
  }
}

import CrashReport
import CrashRing

/// The part of a report about the environment of its process that does not come from the ring.
///
/// Most of it can be read only while the process is attached. For a ring from the spool it stays unset.
struct ProcessContext: Sendable, Equatable {
  var machine: CrashReport.Machine?
  var container: CrashReport.Container?
  var cgroup: String?
  /// The command line, scrubbed.
  var commandLine: String?
  var resources: CrashReport.Resources?
  /// The files with the memory limit of the process.
  var memoryLimit: MemoryLimit?

  private static let cgroupLimit = 512

  init(machine: CrashReport.Machine? = nil) { self.machine = machine }

  /// Makes the context from the text of `/proc/PID/cgroup`.
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

  /// Makes the context that an earlier analysis has stored in a report.
  init(_ report: CrashReport) {
    (machine, container, resources) = (report.machine, report.container, report.resources)
    (cgroup, commandLine) = (report.process.cgroup, report.process.commandLine)
  }

  /// This context, with the missing values taken from a later reading.
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
    // Arguments are part of the memory of the process, so a report that must not show memory has no command line.
    let isWithheld = [.none, .withheld].contains(contents.memory.mode) || report.process.isRestricted == true
    report.process.commandLine = isWithheld ? nil : context.commandLine
    report.noteUptime()
  }
}

extension CrashReport {
  /// Sets how long the process had run, computed from its start time and the time of the report.
  mutating func noteUptime() {
    process.uptime_ms = nil
    guard let start = Moment(rfc3339: process.startTime), let end = Moment(rfc3339: time), start.nanoseconds > 0,
      end.nanoseconds >= start.nanoseconds
    else { return }
    process.uptime_ms = Int((end.nanoseconds - start.nanoseconds) / 1_000_000)
  }
}

import CrashClient
import CrashPages
import CrashProtocol
import CrashReport

extension Issue {
  init(_ group: ReportGroup) {
    self.init(
      key: group.key, title: group.title, sentence: group.sentence, programs: group.names, count: group.count,
      first: group.first, last: group.last, builds: group.builds, firstBuild: group.firstBuild,
      lastBuild: group.lastBuild, release: group.lastRelease, state: group.state,
      newestEvent: group.report.isEmpty ? nil : group.report)
  }
}

extension Event {
  init(_ summary: ReportSummary) {
    let file = summary.file.map { String($0.split(separator: "/").last ?? "") }
    let place = file.map { file in summary.line.map { "\(file):\($0)" } ?? file }
    self.init(
      id: summary.id, time: summary.time, program: summary.name, pid: summary.pid, signal: summary.signal,
      sentence: summary.isPreliminary == true
        ? "crashed by \(summary.signal); symbols are being read" : summary.sentence,
      place: place ?? (summary.function.isEmpty ? nil : summary.function), issue: summary.groupKey,
      release: summary.release, environment: summary.environment, route: summary.route, pod: summary.pod)
  }
}

extension AttachedProcess {
  init(_ process: ProcessSummary) {
    let containment = process.containment.map { "\($0.mode.rawValue), \($0.contained) of \($0.budget)" }
    self.init(
      pid: process.pid, program: process.name, executable: process.executable, build: process.buildID,
      start: process.startTime, state: process.state, memory: process.memory?.rawValue, containment: containment,
      container: process.pod ?? process.containerID.map { String($0.prefix(12)) })
  }
}

extension UseAfterFree.Class {
  init(_ item: DanglingClass) {
    let figures = item.figures
    self.init(
      program: item.process, name: figures.className, build: figures.build, bytes: figures.bytes,
      detection: figures.detection?.estimate, lower: figures.detection?.interval.lower,
      upper: figures.detection?.interval.upper, hits: figures.hits, estimatedAccesses: figures.estimatedAccesses,
      crashes: figures.attributedCrashes)
  }
}

extension UseAfterFree.Group {
  init(_ group: DanglingGroup) {
    self.init(
      program: group.program, className: group.className,
      access: group.method.map { "\(group.kind.rawValue) of \($0)" } ?? group.kind.rawValue,
      place: group.line.isEmpty ? group.place : "\(group.place) at \(group.line)", count: group.count,
      last: group.last, delay_ns: group.age_ns)
  }
}

extension Alarms.Program {
  init(_ policy: DanglingPolicyReport) {
    self.init(
      name: policy.name, level: policy.level.rawValue, evidence: policy.evidence,
      threshold: policy.alarmThresholdDays, usualPerDay: policy.usualPerDay,
      days: policy.days.map { Alarms.Day(date: $0.date, crashes: $0.crashes, hits: $0.hits) },
      lastSwitch: policy.lastSwitch, lastSwitchTime: policy.lastSwitchTime)
  }
}

extension SourceError {
  init(_ error: ClientError) {
    self =
      switch error {
      case .refused(.noSuchReport(let id)): .notFound("crash '\(id)'")
      case .refused(.ambiguousID(let id, _)): .ambiguous("'\(id)'")
      case .refused(.noSuchGroup(let key)): .notFound("issue '\(key)'")
      case .refused(.invalidCursor): .invalidSearch("the page of the list no longer exists")
      case .refused(.invalidParameter(let name)): .invalidSearch("crashd refuses the value of '\(name)'")
      case .refused(.methodNotFound(let name)): .unavailable("crashd is older than these pages: it lacks \(name)")
      case .refused(.storeUnavailable(let reason)): .unavailable("crashd cannot read its store: \(reason)")
      case .refused(.tooManyClients): .unavailable("crashd has too many clients")
      case .refused(let other): .unavailable("crashd refuses the call: \(other.name)")
      case .unreachable(let path, _): .unavailable("crashd does not answer at '\(path)'")
      case .timedOut: .unavailable("crashd did not answer in time")
      case .closed, .failed, .cancelled: .unavailable("crashd ended the connection")
      case .malformedReply, .tooOld, .messageTooLarge: .unavailable("crashd's reply cannot be read")
      }
  }
}

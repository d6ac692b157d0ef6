import CrashReport
import CrashRing

/// What the shield saw in a process before it ended: of its incidents those that happened last.
struct IncidentHistory: Sendable {
  /// How many a report has: more would be a list of their own, and `crashctl incidents` has that.
  static let limit = 16

  /// In the order of their last time.
  var incidents: [Incident]
  /// How many it leaves out.
  var omitted: Int

  /// Those of a ring that began until `end_ns`, nanoseconds since 1970; nil when it is unknown when the process ended.
  init(_ contents: RingContents, before end_ns: UInt64?) {
    // What ends the process is reported elsewhere: by the object of a guard slot, and by the diagnosis.
    let earlier = contents.incidents.filter { incident in
      !incident.isOfCrash && incident.mode != .crash && end_ns.map { incident.first_ns <= $0 } != false
    }
    let sorted = earlier.sorted { ($0.last_ns, $0.key) < ($1.last_ns, $1.key) }
    incidents = sorted.suffix(Self.limit)
    omitted = sorted.count - incidents.count
  }
}

extension RingContents {
  /// The incidents before the first crash that the process has not survived, or before its silent end.
  var history: IncidentHistory {
    let crashes = records.filter { $0.sequence >= survived }
    return IncidentHistory(self, before: crashes.min { $0.sequence < $1.sequence }?.time_ns)
  }

  /// What their sentences need names for.
  var framesOfHistory: [CrashRecord.Frame] {
    history.incidents.flatMap { IncidentBuilder.placeFrames(of: $0, images: images) }
  }
}

extension ReportBuilder<OpenCaches> {
  /// Gives the report what the shield saw before.
  mutating func noteHistory() {
    let history = contents.history
    let builder = IncidentBuilder(images: contents.images, process: process, symbols: symbols)
    incidents = history.incidents.map { CrashReport.PastIncident(builder.report(of: $0)) }
    incidentsOmitted = history.omitted
  }
}

extension ReportBuilder {
  func putHistory(into report: inout CrashReport) {
    report.incidents = incidents.isEmpty ? nil : incidents
    report.incidentsOmitted = incidentsOmitted == 0 ? nil : incidentsOmitted
  }
}

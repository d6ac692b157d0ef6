import CrashReport
import CrashRing

/// The last incidents (faults that the process survived) before the process crashed or ended.
struct IncidentHistory: Sendable {
  /// The maximum number of incidents in one report; `crashctl incidents` lists all incidents.
  static let limit = 16

  /// The incidents, sorted by their last occurrence.
  var incidents: [Incident]
  /// The number of further incidents, which the report omits.
  var omitted: Int

  /// Selects the incidents of a ring that began before `end_ns` (in nanoseconds since 1970).
  ///
  /// `end_ns` is nil if the time at which the process ended is unknown. In this case, all incidents are selected.
  init(_ contents: RingContents, before end_ns: UInt64?) {
    // Omit the incidents that caused a crash, because the report describes them elsewhere: in its diagnosis, and in its
    // key `guardedObject`.
    let earlier = contents.incidents.filter { incident in
      !incident.isOfCrash && incident.mode != .crash && end_ns.map { incident.first_ns <= $0 } != false
    }
    let sorted = earlier.sorted { ($0.last_ns, $0.key) < ($1.last_ns, $1.key) }
    incidents = sorted.suffix(Self.limit)
    omitted = sorted.count - incidents.count
  }
}

extension RingContents {
  /// The incidents that began before the crash that ended the process, or before the unreported exit (an exit without a
  /// crash record).
  var history: IncidentHistory {
    let crashes = records.filter { $0.sequence >= survived }
    return IncidentHistory(self, before: crashes.min { $0.sequence < $1.sequence }?.time_ns)
  }

  /// The frames whose functions the sentences about the incidents in `history` can name.
  var framesOfHistory: [CrashRecord.Frame] {
    history.incidents.flatMap { IncidentBuilder.placeFrames(of: $0, images: images) }
  }
}

extension ReportBuilder<OpenCaches> {
  /// Prepares the earlier incidents for the report.
  mutating func noteHistory() {
    let history = contents.history
    let builder = IncidentBuilder(
      images: contents.images, process: process, symbols: symbols, requests: contents.requests.trapped)
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

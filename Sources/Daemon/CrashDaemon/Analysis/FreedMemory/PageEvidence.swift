import CrashReport
import CrashRing
import Glibc

/// The forbidden access or free that the guard pages recorded before a crash, with the object and the stack that freed
/// the object.
struct PageEvidence: Sendable {
  var incident: Incident
  /// The stack that freed the object, innermost first.
  var release: [CrashReport.Frame]
  /// The stack that allocated the object, innermost first.
  var allocation: [CrashReport.Frame]

  /// The sentence about the incident, without the call site and without a full stop.
  var text: String {
    let text = PageIncident(incident, by: by).text
    // If the sentence begins with a class name, do not capitalize the name, because users search reports for it.
    if !incident.subject.isEmpty, text.hasPrefix(incident.subject) { return text }
    return text.prefix(1).uppercased() + text.dropFirst()
  }

  /// Whether the object had been freed.
  var isOfFreed: Bool {
    switch PageIncident(incident).kind {
    case .read, .write, .doubleFree: true
    default: false
    }
  }

  private var by: String {
    guard let tid = incident.record?.tid, tid != 0 else { return "" }
    let own = release.first { $0.isOwn && !$0.function.isEmpty }
    return " by thread \(tid)" + (own.map { " in \(FunctionName.short($0.function))" } ?? "")
  }

  /// The object on the guard page, as the report shows it.
  var object: CrashReport.GuardedObject? {
    incident.record.map { record in
      CrashReport.GuardedObject(
        className: incident.subject, address: Address(record.address), bytes: Int(record.bytes),
        age_ns: record.tid == 0 ? nil : Int(clamping: record.age_ns),
        releaseThread: record.tid == 0 ? nil : Int(record.tid), release: release,
        allocationThread: record.originTid.map { Int($0) }, allocation: allocation)
    }
  }
}

extension RingContents {
  /// Returns the incident at a guard page that led to a crash: it has the same thread and faulting address as the
  /// crash.
  func pageIncident(of record: CrashRecord) -> Incident? {
    guard record.signal == SIGSEGV, record.code > 0, record.code != 128 else { return nil }
    return incidents.first { incident in
      incident.source == .pages && incident.mode == .crash && incident.method == record.address
        && incident.useTid == record.tid
    }
  }

  /// The frames in those incidents at guard pages that led to a crash.
  var framesOfPages: [CrashRecord.Frame] {
    let incidents = records.compactMap { pageIncident(of: $0) }
    return incidents.flatMap { IncidentBuilder.frames(of: $0, images: images) }
  }
}

extension DiagnosisRule {
  /// The rules that use the incidents at guard pages.
  static let pages: [DiagnosisRule] = [
    DiagnosisRule("guard-slot-freed", cause: .dangling, 1, on: [.signal, .address]) { facts in
      facts.page.flatMap { $0.isOfFreed ? $0.text : nil }
    },
    DiagnosisRule("guard-slot-edge", cause: .init("heap-corruption"), 1, on: [.signal, .address]) { facts in
      facts.page.flatMap { $0.isOfFreed ? nil : $0.text }
    },
  ]
}

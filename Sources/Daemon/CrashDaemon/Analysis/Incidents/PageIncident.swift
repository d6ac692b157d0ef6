import CShimRing
import CrashReport
import CrashRing

/// Describes an incident that guard pages detected, such as a read of freed memory.
struct PageIncident: Sendable {
  var incident: Incident
  /// The part of the diagnosis sentence that names the thread that freed the object, such as ` by thread 7 in drop()`;
  /// empty if the thread is unknown.
  var by = ""

  init(_ incident: Incident, by: String = "") {
    self.incident = incident
    self.by = by
  }

  /// The name of the incident's kind for programs; this name never changes.
  var kind: IncidentReport.Kind {
    switch cs_ring_pages(rawValue: incident.kind) {
    case .CS_RING_PAGES_READ: .read
    case .CS_RING_PAGES_WRITE: .write
    case .CS_RING_PAGES_DOUBLE_FREE: .doubleFree
    case .CS_RING_PAGES_INVALID_FREE: .init("invalidFree")
    case .CS_RING_PAGES_OVERFLOW: .init("overflow")
    case .CS_RING_PAGES_UNDERFLOW: .init("underflow")
    case .CS_RING_PAGES_TRAMPLED: .init("trampled")
    default: .init("\(incident.kind)")
    }
  }

  /// The sentence about the incident, without the call site and without a full stop.
  var text: String {
    let subject = incident.subject.isEmpty ? "a block of memory" : incident.subject
    let amount = incident.amount
    switch cs_ring_pages(rawValue: incident.kind) {
    case .CS_RING_PAGES_READ: return "\(subject) was read\(after), \(Self.bytes(amount)) into it"
    case .CS_RING_PAGES_WRITE: return "\(subject) was written\(after), \(Self.bytes(amount)) into it"
    case .CS_RING_PAGES_DOUBLE_FREE: return "\(subject) was freed again\(after)"
    case .CS_RING_PAGES_INVALID_FREE: return "an address \(Self.bytes(amount)) from the start of \(subject) was freed"
    case .CS_RING_PAGES_OVERFLOW:
      let past = amount.subtractingReportingOverflow(Int64(incident.record?.bytes ?? 0)).partialValue
      return "memory \(Self.bytes(past)) past the end of \(subject) was used"
    case .CS_RING_PAGES_UNDERFLOW: return "memory \(Self.bytes(amount)) before the start of \(subject) was used"
    case .CS_RING_PAGES_TRAMPLED: return "memory beside \(subject) was written while the block was allocated"
    default: return "\(subject) was used\(after)"
    }
  }

  private var after: String {
    guard let record = incident.record else { return " after it was freed\(by)" }
    return " \(IncidentBuilder.duration(Int(clamping: record.age_ns))) after it was freed\(by)"
  }

  private static func bytes(_ count: Int64) -> String {
    count.magnitude == 1 ? "1 byte" : "\(count.magnitude) bytes"
  }
}

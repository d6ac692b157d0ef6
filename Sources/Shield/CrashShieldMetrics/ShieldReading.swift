import CrashShield
import CrashShieldGuards

/// The values of the shield's counters and gauges, by metric.
struct ShieldReading: Sendable, Equatable {
  /// The label and the dimensions of a metric.
  struct Key: Sendable, Hashable {
    var label: String
    var dimensions: [String: String] = [:]
  }

  /// Counters, which only increase.
  var counts: [Key: Int] = [:]
  /// Gauges, which increase and decrease.
  var levels: [Key: Int] = [:]

  /// Returns the current counters of this process.
  static func now() -> ShieldReading {
    var reading = ShieldReading()
    for incident in Shield.guardIncidents {
      reading.count("guard_incidents", ["kind": incident.kind.name], by: incident.count)
    }
    for incident in Shield.danglingIncidents() {
      reading.count("dangling_uses", ["class": incident.className, "kind": incident.kind.metric], by: incident.count)
    }
    reading.count("incidents_lost", by: Shield.droppedIncidentCount)
    reading.count("incidents_lost", by: Shield.droppedDanglingIncidentCount)
    reading.levels[Key(label: "quarantine_bytes")] = Shield.danglingBytes
    reading.levels[Key(label: "started")] = Shield.isStarted ? 1 : 0
    return reading
  }

  private mutating func count(_ label: String, _ dimensions: [String: String] = [:], by amount: Int) {
    let (sum, isTooLarge) = counts[Key(label: label, dimensions: dimensions), default: 0].addingReportingOverflow(
      amount)
    // The sum saturates, because this code must not trap.
    counts[Key(label: label, dimensions: dimensions)] = isTooLarge ? .max : sum
  }
}

extension DanglingIncident.Kind {
  /// The name of the access kind without the number of retains, because each number would otherwise be a counter of its
  /// own.
  fileprivate var metric: String {
    switch self {
    case .call: "call"
    case .asyncCall: "async-call"
    case .overRelease: "over-release"
    case .retains: "retains"
    case .write: "write"
    case .handle: "handle"
    }
  }
}

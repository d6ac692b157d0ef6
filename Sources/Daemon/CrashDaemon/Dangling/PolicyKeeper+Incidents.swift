import CShimRing
import CrashRing
import DanglingStatistics

// Non-fatal incidents of the quarantine, guard pages and handles.
extension PolicyKeeper {
  /// An incident that is new, or has occurred again, since the last reading.
  struct News: Sendable {
    var incident: Incident
    var isFirst: Bool
    /// Equal for uses from the same call site.
    var group: String
  }

  /// Records the incidents since the last reading.
  ///
  /// Each counts once: a loop of them is no more evidence than one.
  func saw(_ news: [News], _ classes: [ProtectedClass], of process: AttachedProcess) {
    if news.isEmpty && classes.isEmpty { return }
    let key = ServiceKey(process.facts)
    guard let known = services[key]?.processes[process.number] else { return }
    let build = known.build
    let processes = Int(services[key]?.loads[build] ?? 1)
    for counted in classes.prefix(ControlPlan.wordLimit) where known.classes[counted.name] != counted {
      services[key]?.book.read(
        counted, before: known.classes[counted.name], build: build, processes: processes, at: now_s)
      services[key]?.remember(counted, of: process.number)
      services[key]?.isDirty = true
    }
    for found in news {
      guard let use = DanglingUse(found.incident), let className = Self.usable(found.incident.subject) else { continue }
      services[key]?.policy.count(at: now_s) { $0.hits += 1 }
      switch use {
      case .handleMiss:
        // A larger quarantine would not help: a handle never reaches the object.
        services[key]?.book.handleMiss(className, build: build, at: now_s)
      case .hit(let kind, let hasDelay):
        let delay_s = found.isFirst && hasDelay ? found.incident.record.map { Double($0.age_ns) / 1e9 } : nil
        services[key]?.book.hit(
          className, build: build, kind: kind, delay_s: delay_s, group: found.group, at: now_s)
        receive(.hit(className: className, group: found.group), key)
      }
    }
    if !news.isEmpty { save(key) }
  }
}

/// What an incident says about use-after-free of its class.
enum DanglingUse: Equatable {
  /// A deallocated object was used.
  ///
  /// `hasDelay`: the age of the quarantined object is a sample for the estimates of delay.
  case hit(ClassStatistics.HitKind, hasDelay: Bool)
  /// A handle was asked for a deallocated object, and returned nil.
  case handleMiss

  /// Nil for incidents of another kind, and for those that a crash follows, which counts instead.
  init?(_ incident: Incident) {
    guard incident.mode != .crash else { return nil }
    switch incident.source {
    case .quarantine:
      switch cs_ring_dangling(rawValue: incident.kind) {
      case .CS_RING_DANGLING_HANDLE: self = .handleMiss
      case .CS_RING_DANGLING_OVER_RELEASE: self = .hit(.release, hasDelay: true)
      // Detected when the object left the quarantine: the time of the use is unknown.
      case .CS_RING_DANGLING_DRIFT, .CS_RING_DANGLING_WRITE: self = .hit(.audit, hasDelay: false)
      default: self = .hit(.call, hasDelay: true)
      }
    case .pages:
      switch cs_ring_pages(rawValue: incident.kind) {
      case .CS_RING_PAGES_READ, .CS_RING_PAGES_WRITE: self = .hit(.access, hasDelay: false)
      case .CS_RING_PAGES_DOUBLE_FREE: self = .hit(.release, hasDelay: false)
      // Out of bounds, or not of an object: no lifetime is in question.
      default: return nil
      }
    case .guarding, .isolated, .other: return nil
    }
  }
}

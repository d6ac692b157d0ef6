import CShimRing
import CrashRing
import DanglingStatistics

// Counts the non-fatal incidents that the quarantine, guard pages and handles detected.
extension PolicyKeeper {
  /// An incident that is new or has occurred again since crashd last read the process's ring.
  struct News: Sendable {
    var incident: Incident
    var isFirst: Bool
    /// The key of the incident's group.
    ///
    /// Incidents with the same class, access kind and call site are in the same group.
    var group: String
  }

  /// Records the incidents that are new or have occurred again since crashd last read the process's ring.
  ///
  /// In each call, an incident counts as one use, however often it occurred: repeated uses in a loop are not stronger
  /// evidence than one use.
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
        // A handle miss (a handle that returned nil) is not counted as a hit. A handle never accesses a deallocated
        // object, so a larger quarantine would have no effect.
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

/// The evidence that an incident gives for a use-after-free of its class.
enum DanglingUse: Equatable {
  /// The program used a deallocated object.
  ///
  /// If `hasDelay` is true, the age of the object in quarantine is a sample of the delay between deallocation and use.
  case hit(ClassStatistics.HitKind, hasDelay: Bool)
  /// A handle returned nil, because its object had been deallocated.
  case handleMiss

  /// Classifies an incident.
  ///
  /// Returns nil for kinds of incidents that are not uses of deallocated objects. Also returns nil if the incident led
  /// to a crash, because the statistics count the crash instead.
  init?(_ incident: Incident) {
    guard incident.mode != .crash else { return nil }
    switch incident.source {
    case .quarantine:
      switch cs_ring_dangling(rawValue: incident.kind) {
      case .CS_RING_DANGLING_HANDLE: self = .handleMiss
      case .CS_RING_DANGLING_OVER_RELEASE: self = .hit(.release, hasDelay: true)
      // The quarantine detects uses of the access kinds DRIFT and WRITE only when the object leaves the quarantine.
      // Therefore, the time of the use is unknown.
      case .CS_RING_DANGLING_DRIFT, .CS_RING_DANGLING_WRITE: self = .hit(.audit, hasDelay: false)
      default: self = .hit(.call, hasDelay: true)
      }
    case .pages:
      switch cs_ring_pages(rawValue: incident.kind) {
      case .CS_RING_PAGES_READ, .CS_RING_PAGES_WRITE: self = .hit(.access, hasDelay: false)
      case .CS_RING_PAGES_DOUBLE_FREE: self = .hit(.release, hasDelay: false)
      // Out-of-bounds accesses and accesses to memory that is not an object have other causes than the deallocation of
      // an object.
      default: return nil
      }
    case .guarding, .isolated, .other: return nil
    }
  }
}

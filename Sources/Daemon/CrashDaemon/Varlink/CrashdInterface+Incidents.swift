import CrashProtocol
import CrashReport
import CrashRing
import CrashStore

/// Implements the interface methods for incidents, which are faults that a process survived.
extension CrashdInterface {
  static func bindIncidents(in table: inout HandlerTable) {
    table.bind(Methods.Incidents.self, CrashdInterface.incidents)
    table.bind(Methods.TopIncidents.self, CrashdInterface.topIncidents)
    table.bind(Methods.DanglingGroups.self, CrashdInterface.danglingGroups)
    table.bind(Methods.ProtectedClasses.self, CrashdInterface.protectedClasses)
  }

  private static let defaultIncidents = 100

  func incidents(
    _ query: IncidentQuery, _ client: Client
  ) throws(ProtocolError) -> Methods.Incidents.Reply {
    // A call with a cursor must set `more`, because only a stream of replies can continue at a cursor.
    if query.cursor != nil { throw .expectedMore }
    let limit = try checked(query.limit, "limit", in: 0...Int.max) ?? Self.defaultIncidents
    let offset = try checked(query.offset, "offset", in: Self.offsets) ?? 0
    let filter = try checked(query.filter)
    let incidents = try reading { () throws(StoreError) in
      try store.incidents(
        filter, visibility: client.visibility, offset: offset, limit: min(limit, limits.listReports))
    }
    return Methods.Incidents.Reply(incidents: incidents)
  }

  func topIncidents(
    _ parameters: Methods.TopIncidents.Parameters, _ client: Client
  ) throws(ProtocolError) -> Methods.TopIncidents.Reply {
    let limit = try checked(parameters.own.limit, "limit", in: 0...Int.max) ?? Self.defaultIncidents
    let filter = try checked(parameters.shared)
    var key = IncidentSum.Key.site
    if let by = parameters.own.by {
      guard let known = IncidentSum.Key(rawValue: by) else { throw .invalidParameter("by") }
      key = known
    }
    let sums = try reading { () throws(StoreError) in
      try store.topIncidents(
        by: key, filter, visibility: client.visibility, limit: min(limit, limits.listReports))
    }
    return Methods.TopIncidents.Reply(sums: sums)
  }

  func danglingGroups(
    _ parameters: Methods.DanglingGroups.Parameters, _ client: Client
  ) throws(ProtocolError) -> Methods.DanglingGroups.Reply {
    let limit = try checked(parameters.limit, "limit", in: 0...Int.max) ?? Self.defaultIncidents
    let offset = try checked(parameters.offset, "offset", in: Self.offsets) ?? 0
    let since = try time(parameters.since, "since")
    let groups = try reading { () throws(StoreError) in
      try store.danglingGroups(
        name: parameters.name, since: since, visibility: client.visibility, offset: offset,
        limit: min(limit, limits.listReports))
    }
    return Methods.DanglingGroups.Reply(groups: groups)
  }

  func checked(_ filter: IncidentFilter) throws(ProtocolError) -> IncidentFilter {
    var filter = filter
    filter.since = try time(filter.since, "since")
    return filter
  }

  func protectedClasses(
    _ parameters: Methods.ProtectedClasses.Parameters, _ client: Client
  ) async throws(ProtocolError) -> Methods.ProtectedClasses.Reply {
    let pid = try checked(parameters.pid, "pid", in: 1...Int(Int32.max))
    var classes: [ProtectedClassReport] = []
    for process in pipeline.attached() where client.visibility.includes(process.facts) {
      let identity = process.facts.identity
      guard pid == nil || pid == Int(process.facts.peer.pid),
        parameters.name.map({ identity.name.contains($0) }) ?? true
      else { continue }
      for counted in process.ring.observations().classes where classes.count < limits.listReports {
        classes.append(ProtectedClassReport(counted, of: process.facts))
      }
    }
    return Methods.ProtectedClasses.Reply(classes: classes)
  }
}

extension ProtectedClassReport {
  fileprivate init(_ counted: ProtectedClass, of facts: ProcessFacts) {
    let reasons = [
      "budget": counted.skipped.budget, "busy": counted.skipped.busy, "unowned": counted.skipped.unowned,
      "isolated": counted.skipped.isolated,
    ]
    self.init(
      pid: Int(facts.peer.pid), uid: Int(facts.peer.uid), process: facts.identity.name, name: counted.name,
      isProtected: counted.isProtected, mode: IncidentBuilder.name(counted.mode), limit: Int(counted.limit),
      instanceBytes: Int(counted.instanceBytes), admitted: Int(clamping: counted.admitted),
      evicted: Int(clamping: counted.evicted), hits: Int(clamping: counted.hits),
      skipped: reasons.filter { $0.value > 0 }.mapValues { Int(clamping: $0) })
  }
}

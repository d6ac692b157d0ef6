import CrashReport
import CrashRing
import CrashStore

/// The methods about what happened while processes went on.
extension CrashdInterface {
  private static let defaultIncidents = 100

  func incidents(
    _ call: VarlinkCall, _ visibility: Visibility
  ) async throws(VarlinkError) -> IncidentsReply {
    let parameters = try VarlinkParameters(call, known: Self.incidentFilterNames.union(["limit", "offset"]))
    let limit = try parameters.int("limit", in: 0...Int64.max) ?? Self.defaultIncidents
    let offset = try parameters.int("offset", in: 0...Self.mostOffset) ?? 0
    let filter = try incidentFilter(parameters)
    await pipeline.observeAll { visibility.includes($0) }
    let incidents = try reading { () throws(StoreError) in
      try store.incidents(filter, visibility: visibility, offset: offset, limit: min(limit, limits.listReports))
    }
    return IncidentsReply(incidents: incidents)
  }

  func topIncidents(
    _ call: VarlinkCall, _ visibility: Visibility
  ) async throws(VarlinkError) -> TopIncidentsReply {
    let parameters = try VarlinkParameters(call, known: Self.incidentFilterNames.union(["limit", "by"]))
    let limit = try parameters.int("limit", in: 0...Int64.max) ?? Self.defaultIncidents
    let filter = try incidentFilter(parameters)
    var key = IncidentSum.Key.site
    if let by = try parameters.string("by") {
      guard let known = IncidentSum.Key(rawValue: by) else { throw .invalidParameter("by") }
      key = known
    }
    await pipeline.observeAll { visibility.includes($0) }
    let sums = try reading { () throws(StoreError) in
      try store.topIncidents(by: key, filter, visibility: visibility, limit: min(limit, limits.listReports))
    }
    return TopIncidentsReply(sums: sums.map { TopIncidentsReply.Sum($0) })
  }

  private static let incidentFilterNames: Set = ["id", "source", "kind", "site", "name", "since"]

  private func incidentFilter(_ parameters: VarlinkParameters) throws(VarlinkError) -> IncidentFilter {
    IncidentFilter(
      idPrefix: try parameters.string("id"), source: try parameters.string("source"),
      kind: try parameters.string("kind"), site: try parameters.string("site"), name: try parameters.string("name"),
      since: try time("since", parameters))
  }

  func protectedClasses(
    _ call: VarlinkCall, _ visibility: Visibility
  ) async throws(VarlinkError) -> ProtectedClassesReply {
    let parameters = try VarlinkParameters(call, known: ["pid", "name"])
    let pid = try parameters.int("pid", in: 1...Int64(Int32.max))
    let name = try parameters.string("name")
    var classes: [ProtectedClassesReply.Class] = []
    for process in pipeline.attached() where visibility.includes(process.facts) {
      let identity = process.facts.identity
      guard pid == nil || pid == Int(process.facts.peer.pid), name.map({ identity.name.contains($0) }) ?? true
      else { continue }
      for counted in process.ring.observations().classes where classes.count < limits.listReports {
        classes.append(ProtectedClassesReply.Class(counted, of: process.facts))
      }
    }
    return ProtectedClassesReply(classes: classes)
  }
}

struct IncidentsReply: Encodable, Sendable {
  var incidents: [IncidentReport]
}

struct TopIncidentsReply: Encodable, Sendable {
  struct Sum: Encodable, Sendable {
    var source: String
    var kind: String
    var place: String
    var name: String
    var count: Int
    var incidents: Int
    var processes: Int
    var last: String
    var id: String

    init(_ sum: IncidentSum) {
      (source, kind, place, name) = (sum.source, sum.kind, sum.place, sum.name)
      (count, incidents, processes) = (sum.count, sum.incidents, sum.processes)
      (last, id) = (sum.last, sum.id)
    }
  }

  var sums: [Sum]
}

struct ProtectedClassesReply: Encodable, Sendable {
  struct Class: Encodable, Sendable {
    var pid: Int
    var uid: Int
    var process: String
    var name: String
    var isProtected: Bool
    var mode: String
    var limit: Int
    var instanceBytes: Int
    var admitted: Int
    var evicted: Int
    var hits: Int
    var skipped: [String: Int]

    init(_ counted: ProtectedClass, of facts: ProcessFacts) {
      pid = Int(facts.peer.pid)
      uid = Int(facts.peer.uid)
      process = facts.identity.name
      name = counted.name
      isProtected = counted.isProtected
      mode = IncidentBuilder.name(counted.mode)
      limit = Int(counted.limit)
      instanceBytes = Int(counted.instanceBytes)
      admitted = Int(clamping: counted.admitted)
      evicted = Int(clamping: counted.evicted)
      hits = Int(clamping: counted.hits)
      let reasons = [
        "budget": counted.skipped.budget, "busy": counted.skipped.busy, "unowned": counted.skipped.unowned,
        "isolated": counted.skipped.isolated,
      ]
      skipped = reasons.filter { $0.value > 0 }.mapValues { Int(clamping: $0) }
    }
  }

  var classes: [Class]
}

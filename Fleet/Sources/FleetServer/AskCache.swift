import FleetStore
import Synchronization

/// A cache of the open asks (requests of operators to hosts) of all tenants, which the responses to batches contain.
///
/// The cache asks the database at most once in `lifetime`. One request waits for the database; the others receive the
/// earlier asks meanwhile. If the database does not answer, the cache keeps its asks. The response must not fail,
/// because the batch is already committed.
final class AskCache: Sendable {
  private struct State {
    var asks: [Int32: String] = [:]
    var until: ContinuousClock.Instant?
    var isAsking = false
  }

  private static let lifetime = Duration.seconds(5)
  /// The maximum size of the asks of a tenant, in bytes; asks that do not fit wait until earlier ones end.
  private static let limitBytes = 2_048

  private let find: @Sendable () async throws(FleetError) -> [Int32: [Ask]]
  private let now: @Sendable () -> ContinuousClock.Instant
  private let state = Mutex(State())

  init(
    now: @escaping @Sendable () -> ContinuousClock.Instant = { .now },
    find: @escaping @Sendable () async throws(FleetError) -> [Int32: [Ask]]
  ) {
    (self.find, self.now) = (find, now)
  }

  /// Returns the open asks of a tenant as a JSON array; nil if there are none.
  func asks(of tenant: Int32) async -> String? {
    let now = now()
    let isFirst = state.withLock { state in
      if state.isAsking || state.until.map({ now < $0 }) ?? false { return false }
      state.isAsking = true
      return true
    }
    if isFirst {
      let found: [Int32: [Ask]]?
      do throws(FleetError) { found = try await find() } catch { found = nil }
      let texts = found?.mapValues(Self.json)
      state.withLock { state in
        if let texts { state.asks = texts }
        (state.until, state.isAsking) = (self.now() + Self.lifetime, false)
      }
    }
    return state.withLock { $0.asks[tenant] }
  }

  private static func json(_ asks: [Ask]) -> String {
    var text = ""
    for entry in asks.map(json) where text.utf8.count + entry.utf8.count + 3 <= limitBytes {
      text += text.isEmpty ? entry : ",\(entry)"
    }
    return "[\(text)]"
  }

  private static func json(_ ask: Ask) -> String {
    let program = FleetReply.quoted(ask.program)
    switch ask.subject {
    case .report(_, let keys):
      let groups = keys.map(FleetReply.quoted).joined(separator: ",")
      return "{\"id\":\(ask.id),\"report\":{\"program\":\(program),\"groups\":[\(groups)]}}"
    case .protection(let className):
      return "{\"id\":\(ask.id),\"protect\":{\"program\":\(program),\"class\":\(FleetReply.quoted(className))}}"
    }
  }
}

import Synchronization

/// The counters of one service process, in the text format of Prometheus.
///
/// They name no tenant.
final class FleetMetrics: Sendable {
  private struct State {
    var outcomes: [String: Int] = [:]
    var requests: [String: Int] = [:]
    var (joinedKeys, ambiguousKeys) = (0, 0)
    var buckets = [Int](repeating: 0, count: bounds_ms.count)
    var count = 0
    var seconds = 0.0
  }

  private static let bounds_ms = [5, 10, 25, 50, 100, 250, 500, 1_000, 2_500, 10_000]

  private let state = Mutex(State())

  func add(items count: Int, outcome: String) { state.withLock { $0.outcomes[outcome, default: 0] += count } }

  /// Counts a request by its outcome: `stored`, or the code of its refusal.
  func add(request code: String) { state.withLock { $0.requests[code, default: 0] += 1 } }

  /// Counts a group that moved to the issue of the same crashes under a key of another crashd version.
  func addJoinedKey() { state.withLock { $0.joinedKeys += 1 } }

  /// Sets the number of groups that are not moved, because their keys of other versions belong to several issues.
  func set(ambiguousKeys count: Int) { state.withLock { $0.ambiguousKeys = count } }

  func add(ingest duration: Duration) {
    let seconds = duration / .seconds(1)
    state.withLock { state in
      for (at, bound) in Self.bounds_ms.enumerated() where seconds * 1_000 <= Double(bound) { state.buckets[at] += 1 }
      state.count += 1
      state.seconds += seconds
    }
  }

  func text(calls: Int) -> String {
    let state = state.withLock { $0 }
    var lines = [
      "# HELP crash_fleet_items_total Items of batches by outcome.", "# TYPE crash_fleet_items_total counter",
    ]
    lines += state.outcomes.sorted { $0.key < $1.key }.map {
      "crash_fleet_items_total{outcome=\"\($0.key)\"} \($0.value)"
    }
    lines += ["# HELP crash_fleet_requests_total Requests by result.", "# TYPE crash_fleet_requests_total counter"]
    lines += state.requests.sorted { $0.key < $1.key }.map {
      "crash_fleet_requests_total{result=\"\($0.key)\"} \($0.value)"
    }
    lines += [
      "# HELP crash_fleet_joined_keys_total Groups that joined the issue of a key of another version.",
      "# TYPE crash_fleet_joined_keys_total counter", "crash_fleet_joined_keys_total \(state.joinedKeys)",
      "# HELP crash_fleet_ambiguous_keys Groups whose keys of other versions belong to several issues.",
      "# TYPE crash_fleet_ambiguous_keys gauge", "crash_fleet_ambiguous_keys \(state.ambiguousKeys)",
      "# HELP crash_fleet_ingest_seconds Time from a whole body to its commit.",
      "# TYPE crash_fleet_ingest_seconds histogram",
    ]
    lines += zip(Self.bounds_ms, state.buckets).map { bound, count in
      "crash_fleet_ingest_seconds_bucket{le=\"\(Double(bound) / 1_000)\"} \(count)"
    }
    lines += [
      "crash_fleet_ingest_seconds_bucket{le=\"+Inf\"} \(state.count)",
      "crash_fleet_ingest_seconds_sum \(state.seconds)", "crash_fleet_ingest_seconds_count \(state.count)",
      "# HELP crash_fleet_database_calls Calls that wait for the database or run in it.",
      "# TYPE crash_fleet_database_calls gauge", "crash_fleet_database_calls \(calls)",
    ]
    return lines.joined(separator: "\n") + "\n"
  }
}

public import CrashReport

/// Separates incidents that are new, or were counted on, from those that were shown.
public struct IncidentNews: Sendable {
  /// crashd reads one process after the other: what is read later may have been seen a little earlier.
  private static let rounds = 10

  /// When the newest one was seen last, of each of the last rounds.
  private var newest: [String] = []
  /// How often those had happened that may be asked for again.
  private var counts: [String: Int] = [:]

  /// Nothing was shown yet.
  public init() {}

  /// What is asked for: all that was seen last at this time, or later; nil: all.
  public var since: String? { newest.first }

  /// Takes an answer of crashd, and returns those that are to be shown, oldest first.
  public mutating func take(_ incidents: [IncidentReport]) -> [IncidentReport] {
    let news = incidents.filter { counts[$0.id] != $0.count }.sorted { ($0.last, $0.id) < ($1.last, $1.id) }
    // Who is not among them comes back when its time, and so its count, has changed.
    counts = incidents.reduce(into: [:]) { $0[$1.id] = $1.count }
    if let last = (incidents.map(\.last) + newest.suffix(1)).max() {
      newest.append(last)
      if newest.count > Self.rounds { newest.removeFirst() }
    }
    return news
  }
}

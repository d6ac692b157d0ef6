import CrashReport

/// How the most recent crashes were sent.
///
/// crashd sends a report again when it has more details, after `reanalyze`, or after a lost acknowledgement. The fleet
/// recognizes a whole report by its id, but a counter has no ids, so only this memory knows that a crash was counted.
struct FleetMemory {
  /// What to do with an event.
  enum Verdict: Equatable {
    case new
    /// The crash was sent as a whole report, and its report now has another group.
    case moved
    /// The crash was already sent or counted. A crash that was only counted stays in the group in which it was counted.
    case repeated
  }

  private struct Entry {
    var group: String
    var isWhole: Bool
  }

  private let limit: Int
  private var entries: [String: Entry] = [:]
  private var order: [String] = []
  private var oldest = 0

  init(limit: Int = 16_384) { self.limit = limit }

  func verdict(_ report: CrashReport) -> Verdict {
    guard let entry = entries[report.id] else { return .new }
    return entry.isWhole && entry.group != report.group.key ? .moved : .repeated
  }

  mutating func remember(_ report: CrashReport, isWhole: Bool) {
    let entry = Entry(group: report.group.key, isWhole: isWhole)
    guard entries.updateValue(entry, forKey: report.id) == nil else { return }
    if order.count < limit { return order.append(report.id) }
    entries[order[oldest]] = nil
    order[oldest] = report.id
    oldest = (oldest + 1) % limit
  }
}

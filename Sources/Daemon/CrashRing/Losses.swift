/// Counts what could not be read or was dropped, by kind; the kinds are part of the report's JSON.
package struct Losses {
  /// The reason for a loss.
  enum Kind: String, CaseIterable {
    /// A record whose writer had not finished, or died before that.
    case torn
    /// A record that differs from what its writer committed: wrong CRC, or a length above its limit.
    case corrupt
    /// Records that were overwritten by later ones.
    case overwritten
    /// Crashes that found no free slot.
    case noSlot
    /// Crashes inside of the handler: their records have no frames.
    case minimal
    /// Threads that were sampled, and had not finished their answer.
    case silentThreads
    /// Threads that were not sampled, because there were too many.
    case threads
    /// The list of threads could not be read, so that none or only some were sampled.
    case threadList
    /// Images that did not fit into the table, or whose entry is invalid.
    case images
    /// Annotations that did not fit, or that were being written.
    case annotations
    /// Invalid breadcrumbs.
    case breadcrumbs
    /// Incidents that did not fit, or whose entry is invalid.
    case incidents
    /// Protected classes that did not fit, or whose entry is invalid.
    case classes
  }

  /// The names of all kinds.
  package static let names = Kind.allCases.map(\.rawValue)

  private(set) var counts: [String: Int] = [:]

  /// Adds to a kind.
  ///
  /// The sum saturates at `Int.max`, since counters come from outside.
  mutating func add(_ kind: Kind, _ count: some BinaryInteger) {
    let count = Int(clamping: count)
    guard count > 0 else { return }
    let (sum, overflow) = counts[kind.rawValue, default: 0].addingReportingOverflow(count)
    counts[kind.rawValue] = overflow ? Int.max : sum
  }
}

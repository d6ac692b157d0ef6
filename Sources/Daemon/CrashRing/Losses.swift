/// Counts records and entries that could not be read or were dropped, by kind.
///
/// The names of the kinds are used in the report's JSON.
package struct Losses {
  /// The reason for a loss.
  enum Kind: String, CaseIterable {
    /// Records that were not committed: their writer was still writing, or ended too early.
    case torn
    /// Records that changed after the commit: the CRC is wrong, or a length is above its limit.
    case corrupt
    /// Records that were overwritten by later ones.
    case overwritten
    /// Crashes for which the ring had no free slot.
    case noSlot
    /// Crashes inside the signal handler. Their records have no frames.
    case minimal
    /// Threads that were asked for their stack in the sweep but did not finish their record.
    case silentThreads
    /// Threads that were not sampled because the process has too many threads.
    case threads
    /// Sweeps in which the list of threads could not be read completely. Some threads were therefore not sampled.
    case threadList
    /// Images that did not fit into the table, or whose table entry is invalid.
    case images
    /// Annotations that did not fit, or that were only partially written.
    case annotations
    /// Invalid breadcrumbs.
    case breadcrumbs
    /// Incidents that did not fit, or whose table entry is invalid.
    case incidents
    /// Protected classes that did not fit, or whose table entry is invalid.
    case classes
  }

  /// The names of all kinds.
  package static let names = Kind.allCases.map(\.rawValue)

  private(set) var counts: [String: Int] = [:]

  /// Adds to the count of a kind.
  ///
  /// The sum saturates at `Int.max`, because the counters are untrusted and could otherwise overflow.
  mutating func add(_ kind: Kind, _ count: some BinaryInteger) {
    let count = Int(clamping: count)
    guard count > 0 else { return }
    let (sum, overflow) = counts[kind.rawValue, default: 0].addingReportingOverflow(count)
    counts[kind.rawValue] = overflow ? Int.max : sum
  }
}

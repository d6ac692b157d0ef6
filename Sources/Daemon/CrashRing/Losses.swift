/// Counts the records and entries that could not be read or were dropped, by kind.
///
/// The names of the cases are the keys in the report's JSON.
package struct Losses {
  /// The kind of a loss: what was lost, and why.
  enum Kind: String, CaseIterable {
    /// Records that were not committed, because their writer was still writing or ended before the commit.
    case torn
    /// Records that changed after the commit, because the CRC is wrong or a length is above its limit.
    case corrupt
    /// Records that later records overwrote.
    case overwritten
    /// Crashes that were not recorded, because the ring had no free slot.
    case noSlot
    /// Crashes inside the shield's signal handler.
    ///
    /// The records of crashes inside the handler have no frames.
    case minimal
    /// Threads that the thread sweep (the sampling of all threads at a crash) asked for their stacks, but that did not
    /// finish their records.
    case silentThreads
    /// Threads that the thread sweep did not sample, because the process has too many threads.
    case threads
    /// Thread sweeps that could not read the list of threads completely.
    ///
    /// Therefore, these sweeps did not sample some threads.
    case threadList
    /// Images that did not fit into the ring's image table, or whose table entry is invalid.
    case images
    /// Annotations that did not fit into the ring, or that were only partially written.
    case annotations
    /// Breadcrumbs whose entries in the ring are invalid.
    case breadcrumbs
    /// Incidents that did not fit into the ring, or whose entry is invalid.
    case incidents
    /// Requests whose entries in the ring are invalid.
    case requests
    /// Protected classes that did not fit into the ring, or whose entry is invalid.
    case classes
  }

  /// The names of all kinds of losses.
  package static let names = Kind.allCases.map(\.rawValue)

  private(set) var counts: [String: Int] = [:]

  /// Adds a number of losses to the count of their kind.
  ///
  /// If the sum would overflow, the count becomes `Int.max`. An overflow is possible because the counters are
  /// untrusted.
  mutating func add(_ kind: Kind, _ count: some BinaryInteger) {
    let count = Int(clamping: count)
    guard count > 0 else { return }
    let (sum, overflow) = counts[kind.rawValue, default: 0].addingReportingOverflow(count)
    counts[kind.rawValue] = overflow ? Int.max : sum
  }
}

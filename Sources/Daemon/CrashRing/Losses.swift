/// Counts what could not be read or was never kept, by kind; the kinds are part of the report's JSON.
struct Losses {
  /// Why something is missing.
  enum Kind: String {
    /// A record whose writer had not finished, or died before it had.
    case torn
    /// A record that is not what its writer committed: wrong CRC, or a length above its limit.
    case corrupt
    /// Records that gave their slot to later ones.
    case overwritten
    /// Crashes that found every slot being written.
    case noSlot
    /// Crashes inside the handler: their records have no frames.
    case minimal
    /// Threads that were asked where they were, and had not finished to answer.
    case silentThreads
    /// Threads that were not asked: there were too many of them.
    case threads
    /// The list of the threads could not be read, so that nobody was asked, or not everybody.
    case threadList
    /// Images that found no place in the table, or whose entry makes no sense.
    case images
    /// Annotations that found no place, or that were being written.
    case annotations
    /// Breadcrumbs that make no sense.
    case breadcrumbs
    /// Uses of dead objects and the like that found no entry, or whose entry makes no sense.
    case incidents
    /// Protected classes that found no entry, or whose entry makes no sense.
    case classes
  }

  private(set) var counts: [String: Int] = [:]

  /// Adds to a kind; the sum stops at `Int.max`, since counters come from outside.
  mutating func add(_ kind: Kind, _ count: some BinaryInteger) {
    let count = Int(clamping: count)
    guard count > 0 else { return }
    let (sum, overflow) = counts[kind.rawValue, default: 0].addingReportingOverflow(count)
    counts[kind.rawValue] = overflow ? Int.max : sum
  }
}

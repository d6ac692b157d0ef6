/// Counts records and entries that could not be read or were dropped, by kind.
///
/// The kinds are part of the report's JSON.
package struct Losses {
  /// The reason for a loss.
  enum Kind: String, CaseIterable {
    /// A record whose writer had not finished, or ended before finishing.
    case torn
    /// A record that differs from the committed one: the CRC is wrong, or a length is above its limit.
    case corrupt
    /// Records that were overwritten by later ones.
    case overwritten
    /// Crashes for which no slot was free.
    case noSlot
    /// Crashes inside the handler, whose records have no frames.
    case minimal
    /// Threads that were sampled but had not finished their record.
    case silentThreads
    /// Threads that were not sampled because there were too many.
    case threads
    /// The list of threads could not be read completely, and not all threads were sampled.
    case threadList
    /// Images that did not fit into the table, or whose table entry is invalid.
    case images
    /// Annotations that did not fit, or that were incompletely written.
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
  /// The sum saturates at `Int.max`, because the counters are untrusted input.
  mutating func add(_ kind: Kind, _ count: some BinaryInteger) {
    let count = Int(clamping: count)
    guard count > 0 else { return }
    let (sum, overflow) = counts[kind.rawValue, default: 0].addingReportingOverflow(count)
    counts[kind.rawValue] = overflow ? Int.max : sum
  }
}

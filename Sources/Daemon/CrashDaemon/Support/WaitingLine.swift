/// The waiters of one user, in the order in which they are served.
///
/// Urgent waiters come before all other waiters. Waiters of the same urgency are in order of arrival.
struct WaitingLine<Waiter> {
  struct Entry {
    var waiter: Waiter
    var uid: UInt32
    var order: UInt64
  }

  private var urgent = Lane()
  private var others = Lane()

  var head: Entry? { urgent.head ?? others.head }
  /// Whether the first waiter is urgent.
  var isUrgent: Bool { urgent.head != nil }
  var count: Int { urgent.count + others.count }

  func waiters(where isMeant: (Waiter) -> Bool) -> [Waiter] {
    (urgent.all(where: isMeant) + others.all(where: isMeant)).map(\.waiter)
  }

  mutating func append(_ waiter: Waiter, _ uid: UInt32, _ order: UInt64, isUrgent: Bool) {
    let entry = Entry(waiter: waiter, uid: uid, order: order)
    if isUrgent { urgent.append(entry) } else { others.append(entry) }
  }

  mutating func removeHead() -> Waiter? { (urgent.removeHead() ?? others.removeHead())?.waiter }

  mutating func makeUrgent(where isMeant: (Waiter) -> Bool) {
    let moved = others.remove(where: isMeant)
    if !moved.isEmpty { urgent = Lane((urgent.all() + moved).sorted { $0.order < $1.order }) }
  }

  mutating func remove(where isMeant: (Waiter) -> Bool) -> [Waiter] {
    (urgent.remove(where: isMeant) + others.remove(where: isMeant)).map(\.waiter)
  }

  /// A first-in, first-out queue.
  ///
  /// Each operation on one entry of the queue takes constant time.
  private struct Lane {
    /// The entries of the queue; nil marks a removed entry.
    private var entries: [Entry?]
    private var first = 0

    init(_ entries: [Entry] = []) { self.entries = entries }

    var head: Entry? { first < entries.count ? entries[first] : nil }
    var count: Int { entries.count - first }

    func all(where isMeant: (Waiter) -> Bool = { _ in true }) -> [Entry] {
      entries[first...].compactMap { entry in entry.flatMap { isMeant($0.waiter) ? $0 : nil } }
    }

    mutating func append(_ entry: Entry) { entries.append(entry) }

    mutating func removeHead() -> Entry? {
      guard let entry = head else { return nil }
      entries[first] = nil
      first += 1
      if first == entries.count || first >= 1_024 {
        entries.removeFirst(first)
        first = 0
      }
      return entry
    }

    mutating func remove(where isMeant: (Waiter) -> Bool) -> [Entry] {
      let found = all(where: isMeant)
      if !found.isEmpty { self = Lane(all { !isMeant($0) }) }
      return found
    }
  }
}

/// Folds similar rows of an overview into one row.
enum Folding {
  /// A row, and the number of items that were folded into it.
  struct Row<Item> {
    var item: Item
    var count: Int
  }

  /// Folds adjacent items with the same key into one row, which shows the first of these items.
  ///
  /// The rows have the order of the items.
  static func neighbors<Item, Key: Equatable>(_ items: [Item], by key: (Item) -> Key?) -> [Row<Item>] {
    var rows: [Row<Item>] = []
    var last: Key?
    for item in items {
      let own = key(item)
      if own != nil, own == last {
        rows[rows.count - 1].count += 1
      } else {
        rows.append(Row(item: item, count: 1))
      }
      last = own
    }
    return rows
  }

  /// Folds all items with the same key.
  ///
  /// The groups are in the order in which their keys first appear.
  static func all<Item, Key: Hashable>(_ items: [Item], by key: (Item) -> Key) -> [[Item]] {
    var places: [Key: Int] = [:]
    var groups: [[Item]] = []
    for item in items {
      let own = key(item)
      if let place = places[own] {
        groups[place].append(item)
      } else {
        places[own] = groups.count
        groups.append([item])
      }
    }
    return groups
  }

  /// Formats a count, such as `×18`.
  ///
  /// Returns an empty string for a count of one.
  static func times(_ count: Int) -> String { count > 1 ? "×\(count)" : "" }
}

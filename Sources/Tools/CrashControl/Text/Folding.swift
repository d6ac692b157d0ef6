/// Folds rows of an overview that would say the same.
enum Folding {
  /// A row, and how many rows it stands for.
  struct Row<Item> {
    var item: Item
    var count: Int
  }

  /// Folds neighbors with the same key: the order of a list stays, and the first of them is shown.
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

  /// Folds all items with the same key, in the order of the first of each.
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

  /// Such as `×18`; empty for one.
  static func times(_ count: Int) -> String { count > 1 ? "×\(count)" : "" }
}

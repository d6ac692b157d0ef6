/// The articles of the server.
///
/// `price` has the defect that crashes the server.
struct Store {
  var prices = [120, 80, 40]

  /// Calls itself until the stack is `depth` frames deep, then reads past the end of the prices.
  @inline(never)
  func price(depth: Int) -> Int {
    if depth > 0 { return 1 + price(depth: depth - 1) * 3 }
    return prices[prices.count + depth]
  }
}

import Testing

@testable import CrashDaemon

@Suite("Parts of names that depend on the build")
struct GroupingTextTests {
  @Test(
    "from a linkage name, grouping removes only suffixes that the compiler added",
    arguments: [
      ("$s4shop3buyyyYaFTY0_", "$s4shop3buyyyYaF"), ("$s4shop3buyyyYaFTQ12_", "$s4shop3buyyyYaF"),
      ("$s4shop3buyyyYaFTY_", "$s4shop3buyyyYaF"), ("$s4shop3buyyyF.resume.0", "$s4shop3buyyyF"),
      ("buy.cold", "buy"), ("buy.part.3.cold.1", "buy"), ("buy.isra.0TY0_", "buy"), ("buy.coldest", "buy.coldest"),
      ("a.b.constprop.1", "a.b"), ("TY0_", ""), ("Y0_", "Y0_"), ("T0_", "T0_"), ("_", "_"), ("", ""), (".cold", ""),
      ("$s4shop3buyyyYaFTY0_.llvm.123", "$s4shop3buyyyYaF"),
    ])
  func stem(mangled: String, expected: String) {
    #expect(GroupingText.stem(mangled) == expected)
  }

  @Test(
    "from a readable name, grouping removes specializations, parts of async functions, numbers and private marks",
    arguments: [
      ("specialized Store.buy(_:)", "Store.buy(_:)"),
      ("generic not re-abstracted specialized merged function signature specialized buy()", "buy()"),
      ("merged buy()", "buy()"), ("buy() specialized", "buy() specialized"),
      ("(1) suspend resume partial function for Store.buy()", "Store.buy()"),
      ("(12) await resume partial function for buy()", "buy()"),
      ("() await resume partial function for a", "() await resume partial function for a"),
      ("(x) suspend", "(x) suspend"), ("closure #1 in closure #23 in buy()", "closure in closure in buy()"),
      ("variable initialization expression #2 of a", "variable initialization expression of a"),
      ("local #1", "local"), ("route #7", "route #7"), ("closure #", "closure #"), ("closure #1#2", "closure#2"),
      ("price in _0123456789ABCDEF0123456789ABCDEF of Store", "price of Store"),
      ("price in _0123456789ABCDEF0123456789ABCDE of Store", "price in _0123456789ABCDEF0123456789ABCDE of Store"),
      ("price in _0123456789abcdef0123456789abcdef", "price in _0123456789abcdef0123456789abcdef"),
      ("größe(für:)", "größe(für:)"), ("", ""),
    ])
  func simplified(name: String, expected: String) {
    #expect(GroupingText.simplified(name) == expected)
  }
}

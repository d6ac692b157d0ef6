import Foundation
import Testing

/// A small program, built for release: optimized, with inlined and specialized Swift code and a C unit.
enum OptimizedProgram {
  static let swiftSource = """
    protocol Priced { var price: Int { get } }
    struct Item: Priced { var price: Int }
    struct Cart<Entry: Priced> {
      var entries: [Entry]
      func total(from start: Int) -> Int {
        var sum = 0
        for index in start..<entries.count { sum += entries[index].price * Int(discount(Int32(index))) }
        return sum
      }
      subscript(checked index: Int) -> Entry { entries[index] }
    }
    final class Shelf {
      var carts: [String: Cart<Item>] = [:]
      func add(_ name: String, _ prices: [Int]) {
        carts[name, default: Cart(entries: [])].entries += prices.lazy.filter { $0 > 0 }.map { Item(price: $0) }
      }
      func sum() -> Int { carts.values.reduce(0) { $0 + $1.total(from: 0) } }
    }
    actor Register {
      var taken = 0
      func take(_ amount: Int) async throws -> Int {
        taken += amount
        await Task.yield()
        return try await withThrowingTaskGroup(of: Int.self) { group in
          for part in 0..<taken { group.addTask { part * amount } }
          return try await group.reduce(0, +)
        }
      }
    }
    @inline(never) func pick(_ cart: Cart<Item>, _ index: Int) -> Int { cart[checked: index].price }
    let shelf = Shelf()
    shelf.add("a", CommandLine.arguments.map(\\.count))
    print(shelf.sum(), pick(shelf.carts["a"]!, CommandLine.arguments.count - 1))
    print(try await Register().take(3))
    """

  static let cSource = """
    static inline int half(int value) { return value / 2; }
    static int twice(int value) { volatile int copy = value; return copy * half(copy) * 2; }
    int discount(int index) { return twice(index + 1) + half(index); }
    """

  static let cxxSource = """
    static inline int half(int value) { return value / 2; }
    struct Shelf { static int price(int index); };
    int Shelf::price(int index) { volatile int copy = index; return copy * half(copy + 1); }
    extern "C" int plain(int index) { volatile int copy = index; return half(copy) + 1; }
    """

  /// Builds the program.
  ///
  /// Both languages use the given version of DWARF.
  static func build(in folder: URL, dwarfVersion: Int) throws -> URL {
    let swift = folder.appendingPathComponent("main.swift")
    let bridge = "@_silgen_name(\"discount\") func discount(_ index: Int32) -> Int32\n"
    try (bridge + swiftSource).write(to: swift, atomically: true, encoding: .utf8)
    try cSource.write(to: folder.appendingPathComponent("discount.c"), atomically: true, encoding: .utf8)
    let program = folder.appendingPathComponent("program")
    // With a relative source path, the file names in the C unit's debug information are relative to its directory.
    try compile(
      ["-O2", "-g", "-gdwarf-\(dwarfVersion)", "-c", "discount.c", "-o", "discount.o"], in: folder)
    try compile(
      with: "swiftc",
      [
        "-O", "-g", "-dwarf-version=\(dwarfVersion)", "-module-name", "shop", swift.path, "discount.o", "-o",
        program.path,
      ], in: folder)
    return program
  }

  /// Runs a compiler of the toolchain.
  static func compile(with name: String = "clang", _ arguments: [String], in folder: URL) throws {
    try run(try Tools.symbolizer().deletingLastPathComponent().appendingPathComponent(name), arguments, in: folder)
  }

  static func run(_ tool: URL, _ arguments: [String], in folder: URL) throws {
    let process = Process()
    process.executableURL = tool
    process.arguments = arguments
    process.currentDirectoryURL = folder
    try process.run()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "\(tool.lastPathComponent) failed")
  }
}

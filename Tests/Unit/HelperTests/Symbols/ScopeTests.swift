import CrashSymbols
import Foundation
import TestKit
import Testing

/// Tests the descriptions of the variables and types that are in scope at an address.
@Suite struct ScopeTests {
  private static let program = TestProgram.url("crash-analyse")

  private static func compiler(_ name: String) throws -> URL {
    try Tools.symbolizer().deletingLastPathComponent().appendingPathComponent(name)
  }

  /// Builds a library from `source`, and returns the description of the scope `offset` bytes after the start of a
  /// function.
  ///
  /// After 16 bytes, the default, a function has stored its parameters on the stack.
  private static func scope(
    of source: String, named name: String, _ tool: String, _ options: [String], at function: String,
    offset: UInt64 = 16, verb: String = "describe-scope"
  ) throws -> ScopeDescription {
    let scopes = try scopes(of: source, named: name, tool, options, at: [function], offset: offset, verb: verb)
    return try #require(scopes.first)
  }

  /// Describes the scopes in several functions of one library.
  private static func scopes(
    of source: String, named name: String, _ tool: String, _ options: [String], at functions: [String],
    offset: UInt64, verb: String
  ) throws -> [ScopeDescription] {
    try Tools.withTemporaryFolder { folder in
      let file = folder.appendingPathComponent(name)
      try source.write(to: file, atomically: true, encoding: .utf8)
      let image = folder.appendingPathComponent("image.so")
      try OptimizedProgram.run(compiler(tool), options + [file.path, "-o", image.path], in: folder)
      let addresses = try ELFFile(path: image.path).addressOfFunction
      return try functions.map { function in
        let start = try #require(addresses[function], "\(function)")
        let answer = try Tools.run(
          program, [verb, "--build-id", "", "--pc", String(start + offset, radix: 16)], input: image)
        #expect(answer.status == 0, "\(answer.error)")
        return ScopeDescription([UInt8](answer.output))
      }
    }
  }

  static let source = """
    struct customer { long id; const char *name; };
    union amount { int whole; double part; };
    struct money { char code[4]; union amount amount; };
    struct order {
      struct customer *customer;
      struct money price;
      union { int open; int closed; };
      unsigned flag : 1, state : 7;
      struct order *next;
    };
    typedef const struct order *order_list;
    long total(order_list first, char *text, int count) {
      volatile long sum = 0;
      { struct customer *inner = first->customer; sum += inner->id; }
      return sum + text[0] + count;
    }
    """

  @Test("the scope description of a C pointer includes its target type", arguments: ["-gdwarf-4", "-gdwarf-5"])
  func variables(version: String) throws {
    let options = ["-g", version, "-fPIC", "-shared", "-nostdlib"]
    let scope = try Self.scope(of: Self.source, named: "a.c", "clang", options, at: "total")
    #expect(scope.variables.map(\.name) == ["first", "text"])
    #expect(scope.variables.map { $0.type.map { scope.types[$0].name } } == ["order", nil])
    // Both variables are on the stack, below the frame pointer.
    #expect(scope.variables.allSatisfy { $0.isMemory && $0.register == 6 && Int64(bitPattern: $0.offset) < 0 })
    let order = try #require(scope.types.first)
    #expect(order.fields.map(\.name) == ["customer", "price", "", "flag", "state", "next"])
    #expect(order.fields.map(\.offset) == [0, 8, 24, 28, 28, 32])
    #expect(order.fields.map(\.size) == [8, 16, 4, 4, 4, 8])
    guard case .pointer(let customer) = order.fields[0].content, case .value(let money) = order.fields[1].content,
      case .value(let state) = order.fields[2].content
    else {
      Issue.record("\(order.fields.map(\.content))")
      return
    }
    #expect(order.fields[5].content == .pointer(0))
    #expect(scope.types[customer].fields.map(\.name) == ["id", "name"])
    #expect(scope.types[money].fields.map(\.name) == ["code", "amount"])
    #expect(scope.types[state].fields.map(\.name) == ["open", "closed"])
  }

  @Test("crash-analyse prints the code before an address even without debug information", arguments: ["-g0", "-g"])
  func code(option: String) throws {
    let source = """
      long more(long a, long b) { return a * b + 7 * a % (b | 1); }
      long next(long **list) { return *list[3]; }
      """
    let options = [option, "-O1", "-fPIC", "-shared", "-nostdlib"]
    // Offset 4 is after the instruction mov rax, [rdi+0x18].
    let scopes = try Self.scopes(
      of: source, named: "a.c", "clang", options, at: ["next", "more"], offset: 4, verb: "describe-scope")
    #expect(scopes[0].codeBefore.count == ScopeDescription.codeBytes)
    #expect(scopes[0].codeBefore.suffix(4) == [0x48, 0x8b, 0x47, 0x18])
    #expect(scopes[0].variables.isEmpty == (option == "-g0"))
    // `more` is the first function, so only its own first four bytes precede the address.
    #expect(scopes[1].codeBefore.count == 4)
    #expect(ScopeDescription(Array(scopes[0].text.utf8)) == scopes[0])
  }

  @Test("variables of optimized code are described with their register or frame offset, within their block")
  func optimized() throws {
    let source = """
      struct node { int key; struct node *next; };
      static inline int key(struct node *inner) { return inner->key; }
      __attribute__((noinline)) int sum(struct node *list) { return key(list) + list->next->key; }
      """
    let options = ["-O2", "-g", "-fPIC", "-shared", "-nostdlib"]
    let scope = try Self.scope(of: source, named: "a.c", "clang", options, at: "sum", offset: 0)
    // At its start, the function has only its parameter in scope, in rdi.
    #expect(scope.variables.map(\.name) == ["list"])
    #expect(scope.variables.allSatisfy { !$0.isMemory && $0.register == 5 && $0.offset == 0 })
    #expect(scope.types.map(\.name) == ["node"])
  }

  @Test(
    "variables that gcc describes relative to the CFA are found through the unwind tables",
    arguments: ["-O0", "-O0 -fomit-frame-pointer"])
  func frameAddress(option: String) throws {
    let gcc = URL(fileURLWithPath: "/usr/bin/gcc")
    try #require(FileManager.default.isExecutableFile(atPath: gcc.path))
    try Tools.withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("a.c")
      try Self.source.write(to: file, atomically: true, encoding: .utf8)
      let image = folder.appendingPathComponent("image.so")
      let options = option.split(separator: " ").map(String.init) + ["-g", "-fPIC", "-shared", "-nostdlib"]
      try OptimizedProgram.run(gcc, options + [file.path, "-o", image.path], in: folder)
      let start = try #require(try ELFFile(path: image.path).addressOfFunction["total"])
      let pc = String(start + 20, radix: 16)
      let answer = try Tools.run(Self.program, ["describe-scope", "--build-id", "", "--pc", pc], input: image)
      let scope = ScopeDescription([UInt8](answer.output))
      #expect(scope.variables.map(\.name).prefix(2) == ["first", "text"])
      #expect(scope.variables.allSatisfy { $0.isMemory && $0.register == (option == "-O0" ? 6 : 7) })
    }
  }

  @Test("in scope descriptions, C++ base classes are fields, and `this` is a variable")
  func classes() throws {
    let source = """
      struct base { virtual ~base(); long a; static int shared; };
      template <class T> struct box { T item; };
      struct list : base { list *next; box<int *> boxed; virtual long get(); };
      base::~base() {}
      long list::get() { volatile long value = a; return value + (long)boxed.item; }
      """
    let options = ["-g", "-fPIC", "-shared", "-nostdlib", "-fno-exceptions", "-fno-rtti"]
    let scope = try Self.scope(of: source, named: "a.cpp", "clang++", options, at: "_ZN4list3getEv")
    #expect(scope.variables.map(\.name) == ["this"])
    let list = try #require(scope.types.first)
    #expect(list.name == "list")
    #expect(list.fields.map(\.name) == ["", "next", "boxed"])
    #expect(list.fields.map(\.offset) == [0, 16, 24])
    guard case .value(let base) = list.fields[0].content else {
      Issue.record("the base is no value")
      return
    }
    #expect(scope.types[base].name == "base")
    #expect(scope.types[base].fields.last?.name == "a")
  }

  @Test("Swift classes are described with their stored properties", arguments: ["-Onone", "-O"])
  func swift(option: String) throws {
    let source = """
      public final class Cart {
        public var count: Int8 = 1
        private var next: Cart?
        public var name = "a"
        public static var shared = 1
        public final class Item { public var price = 2 }
        @inline(never) public func total() -> Int { name.utf8.count + Int(count) + (next?.total() ?? 0) }
      }
      """
    let options = ["-g", option, "-emit-library", "-module-name", "shop", "-parse-as-library"]
    let scope = try Self.scope(
      of: source, named: "a.swift", "swiftc", options, at: "$s4shop4CartC5totalSiyF", offset: option == "-O" ? 0 : 24)
    #expect(scope.variables.map(\.name).contains("self"))
    let cart = try #require(scope.types.first)
    #expect(cart.name == "Cart")
    #expect(cart.fields.map(\.name) == ["count", "next", "name"])
    #expect(cart.fields.map(\.offset) == [16, 24, 32])
    #expect(cart.fields.map(\.size) == [8, 8, 16])
  }

  @Test("the description of a Swift class includes the object sizes of its subclasses")
  func derived() throws {
    let source = """
      public class Cart {
        var count = 1
        @inline(never) public func total() -> Int { count }
      }
      class Big: Cart { var more = (1, 2) }
      class Bigger: Big { var most = (1, 2, 3) }
      private class Hidden: Cart { var few: UInt8 = 1 }
      class Shelf { var count = (1, 2, 3, 4, 5, 6, 7) }
      class Box<Item>: Cart { var item: Item? }
      public func carts() -> [AnyObject] { [Bigger(), Hidden(), Shelf(), Box<Int>()] }
      """
    let options = ["-g", "-Onone", "-emit-library", "-module-name", "shop", "-parse-as-library"]
    let scope = try Self.scope(
      of: source, named: "a.swift", "swiftc", options, at: "$s4shop4CartC5totalSiyF", offset: 24)
    let cart = try #require(scope.types.first)
    #expect(cart.name == "Cart" && cart.size == 24)
    // Bigger derives from Big, which derives from Cart. Box is not in the description, because its size depends on the
    // generic parameter Item.
    #expect(cart.derivedSizes.sorted() == [25, 40, 64])
    #expect(ScopeDescription(Array(scope.text.utf8)) == scope)
  }

  @Test(
    "the classes that a function and its neighbors name are found without debug information",
    arguments: ["-Onone", "-O"])
  func named(option: String) throws {
    let source = """
      public class Cart {
        public var count = 1
        public init() {}
      }
      final class BigCart: Cart { var more = (1, 2) }
      public final class Shelf<Item> {
        public var items: [Item] = []
        public var rows = (1, 2, 3)
        public init() {}
        deinit { use(Crumb()) }
      }
      final class Crumb { var one = (1, 2, 3, 4, 5, 6, 7) }
      public final class Untouched { public var number: Int8 = 1 }
      private final class Hidden { var few = (1, 2, 3, 4) }
      @inline(never) public func use<Value>(_ value: Value) { print(value) }
      @inline(never) public func perform(_ work: () -> Int) -> Int { work() }
      @inline(never) public func count(of cart: Cart) -> Int { cart.count }
      @inline(never) public func checkout(_ number: Int) -> Int {
        use(Shelf<Int>())
        use(Hidden())
        return perform { number + count(of: Cart()) }
      }
      public func keep() -> [AnyObject] { [BigCart(), Untouched()] }
      """
    let options = [option, "-emit-library", "-module-name", "shop", "-parse-as-library"]
    let scope = try Self.scope(
      of: source, named: "a.swift", "swiftc", options, at: "$s4shop8checkoutyS2iF", offset: 1, verb: "describe-classes")
    #expect(scope.variables.isEmpty && scope.types.isEmpty)
    let sizes = Dictionary(scope.namedClasses.map { ($0.name, $0.size) }, uniquingKeysWith: max)
    #expect(sizes["Shelf"] == 48 && sizes["Untouched"] == nil)
    // This class is private: in optimized code, its metadata has no symbol at its own address, only one before it.
    #expect(sizes["Hidden"] == 48)
    let own = try Self.scope(
      of: source, named: "a.swift", "swiftc", options, at: "$s4shop5count2ofSiAA4CartC_tF", offset: 1,
      verb: "describe-classes")
    #expect(own.namedClasses.map(\.name) == ["Cart"] && own.namedClasses.map(\.size) == [24])
    #expect(own.namedClasses.map(\.derivedSizes) == [[40]])
    #expect(ScopeDescription(Array(own.text.utf8)) == own)
    // In optimized code, the compiler can inline the closure into the function that receives it.
    if option == "-Onone" {
      let closure = try Self.scope(
        of: source, named: "a.swift", "swiftc", options, at: "$s4shop8checkoutyS2iFSiyXEfU_", offset: 1,
        verb: "describe-classes")
      #expect(Set(closure.namedClasses.map(\.name)) == ["Cart", "Shelf", "Hidden"])
    }
  }

  @Test("classes of the same name are distinguished by their enclosing types", arguments: ["-Onone", "-O"])
  func sameName(option: String) throws {
    let source = """
      public final class Node {
        public var one = 1
        public init() {}
      }
      public enum Shelf {
        public final class Node {
          public var two = (1, 2)
          public init() {}
        }
      }
      public final class Account {
        public final class Node {
          public var three = (1, 2, 3)
          public init() {}
        }
      }
      @inline(never) public func keep(_ value: AnyObject) { print(value) }
      @inline(never) public func outer() { keep(Node()) }
      @inline(never) public func inner() { keep(Shelf.Node()) }
      @inline(never) public func other() { keep(Account.Node()) }
      @inline(never) public func pass(_ node: Node) { keep(node) }
      """
    let options = [option, "-emit-library", "-module-name", "shop", "-parse-as-library"]
    let functions = ["$s4shop5outeryyF", "$s4shop5inneryyF", "$s4shop5otheryyF", "$s4shop4passyyAA4NodeCF"]
    let scopes = try Self.scopes(
      of: source, named: "a.swift", "swiftc", options, at: functions, offset: 1, verb: "describe-classes")
    #expect(scopes.map { $0.namedClasses.filter { $0.name == "Node" }.map(\.size) } == [[24], [32], [40], [24]])
  }

  @Test("classes are found in top-level code, and in functions that the compiler makes for a closure's function")
  func mainAndSpecialized() throws {
    let source = """
      final class Cart { var one = (1, 2) }
      final class Shelf { var count = (1, 2, 3, 4) }
      @inline(never) func keep(_ value: AnyObject) { print(value) }
      @inline(never) func wait(_ work: @escaping @Sendable () async -> Void) { Task { await work() } }
      @inline(never) func perform(_ work: () -> Void) { work() }
      keep(Cart())
      perform {
        keep(Shelf())
        wait { print(2) }
      }
      """
    let options = ["-O", "-module-name", "shop"]
    let scopes = try Self.scopes(
      of: source, named: "main.swift", "swiftc", options, at: ["main", "$s4shopyyXEfU_yyYaYbcfU_TY0_"], offset: 1,
      verb: "describe-classes")
    #expect(scopes.count == 2 && scopes[0].namedClasses.map(\.name).contains("Cart"))
    #expect(scopes[1].namedClasses.map(\.name).contains("Shelf"))
  }

  @Test("code without debug information is described by its bytes only; code of another build is not described")
  func nothing() throws {
    let library = try Tools.mappedFile(named: "libc.so.6")
    let abort = try #require(try ELFFile(path: library.path).addressOfFunction["abort"])
    let pc = String(abort + 1, radix: 16)
    let answer = try Tools.run(Self.program, ["describe-scope", "--build-id", "", "--pc", pc], input: library)
    #expect(answer.status == 0)
    var scope = ScopeDescription([UInt8](answer.output))
    #expect(scope.codeBefore.count == ScopeDescription.codeBytes)
    scope.codeBefore = []
    #expect(scope == ScopeDescription([]))
    let wrong = try Tools.run(Self.program, ["describe-scope", "--build-id", "00ff", "--pc", pc], input: library)
    #expect(wrong.status == 65 && wrong.output.isEmpty)
    #expect(
      try Tools.run(Self.program, ["describe-scope", "--build-id", "", "--pc", "x"], input: library).status == 64)
  }

  @Test("a damaged image results in a scope description, or ends the child process only", arguments: 0..<20)
  func damaged(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    let maker = TestProgram.url("crash-maker")
    let pc = try #require(try ELFFile(path: maker.path).addressOfFunction["cs_fault_null_plus_offset"])
    var bytes = try Data(contentsOf: maker)
    for _ in 0..<5_000 {
      bytes[Int.random(in: 4096..<bytes.count, using: &generator)] = .random(in: 0...255, using: &generator)
    }
    try Tools.withTemporaryFolder { folder in
      let image = folder.appendingPathComponent("image")
      try bytes.write(to: image)
      let answer = try Tools.run(
        Self.program, ["describe-scope", "--build-id", "", "--pc", String(pc + 20, radix: 16)], input: image)
      // If libdw follows a damaged type in an endless loop, the kernel ends the process at its CPU time limit.
      #expect([0, 65, -SIGXCPU, -SIGKILL, -SIGSEGV].contains(answer.status), "\(answer.status) \(answer.error)")
      #expect(answer.output.count <= ScopeDescription.limitBytes)
    }
  }

  @Test("malformed lines of a scope description are skipped")
  func strangers() {
    #expect(ScopeDescription([]) == ScopeDescription(Array("what\n".utf8)))
    let text = "V m 6 -8 0 order list\nT 0 a b\nF 0 8 p 7 next one\nT 3 wrong\nV r 5 0 - late\n"
    let scope = ScopeDescription(Array(text.utf8))
    #expect(scope.variables.map(\.name) == ["order list"])
    #expect(scope.variables.map(\.offset) == [UInt64(bitPattern: -8)])
    #expect(scope.types.map(\.name) == ["a b"])
    #expect(scope.types.first?.fields.map(\.content) == [.pointer(7)])
    #expect(ScopeDescription(Array(scope.text.utf8)) == scope)
    #expect(ScopeDescription([UInt8](repeating: 0xff, count: 70_000)).types.isEmpty)
  }
}

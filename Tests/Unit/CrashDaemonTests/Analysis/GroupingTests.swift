import CrashReport
import TestKit
import Testing

@testable import CrashDaemon

@Suite("Grouping")
struct GroupingTests {
  private func key(
    _ frames: [CrashReport.Frame], kind: String = "trap", check: FailedCheck = .unknown
  ) -> String {
    let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
    return Grouping.group(of: thread, kind: kind, check: check, process: "shop").key
  }

  private func frame(
    _ mangled: String, _ function: String, line: Int = 1, column: Int? = nil, address: UInt64 = 0x1000,
    isOwn: Bool = true
  ) -> CrashReport.Frame {
    CrashReport.Frame(
      address: Address(address), function: function, mangled: mangled, file: "/src/a.swift", line: line,
      column: column, image: "/srv/shop",
      isOwn: isOwn, trust: .cfi)
  }

  @Test("a debug build and a release build of one crash have the same key")
  func builds() {
    // The debug build has frames of the runtime, other numbers of closures, and no specialized functions.
    let debug = [
      frame("$ss17_assertionFailure", "_assertionFailure(_:_:file:line:flags:)", isOwn: false),
      frame("$sSayxSicig", "Array.subscript.getter", isOwn: false),
      frame("$s4shop5StoreC3buyyySiF", "Store.buy(_:)", line: 10),
      frame("$s4shop5StoreC3runyyFyycfU_", "closure #1 in Store.run()", line: 20),
      frame("$s4shop5StoreC3runyyF", "Store.run()", line: 22),
      frame("$s4shop5StoreC4openyyF", "Store.open()", line: 25),
      frame("main", "main", line: 30),
    ]
    let release = [
      frame("$s4shop5StoreC3buyyySiFTf4n_g", "specialized Store.buy(_:)", line: 11, address: 0x9999),
      frame("$s4shop5StoreC3runyyFyycfU0_", "closure #2 in Store.run()", line: 21),
      frame("$s4shop5StoreC3runyyF", "Store.run()", line: 23),
      frame("$s4shop5StoreC4openyyF", "Store.open()", line: 26),
      frame("$s4shop5StoreC5otheryyF", "Store.other()", line: 99),
    ]
    #expect(key(debug) == key(release))
  }

  @Test("parts of async functions, generic arguments and recursion do not change the key")
  func names() {
    let plain = [frame("$s4shop3buyyyYaF", "buy()"), frame("$s4shop3runyyYaF", "run()")]
    let other = [
      frame("$s4shop3buyyyYaFTY0_", "buy()"), frame("$s4shop3buyyyYaFTQ1_", "buy<A>()"),
      frame("$s4shop3runyyYaFTA", "partial apply for run()"), frame("$s4shop3runyyYaF", "run()"),
    ]
    #expect(key(plain) == key(other))
  }

  @Test(
    "generic arguments are removed from names in one pass",
    arguments: [
      ("a<b<c>, d>()", "a()"), ("<a> b", "<a> b"), ("a > b < c", "a > b < c"), ("(a<b) -> c>", "(a"), ("", ""),
      ("P.<^> infix<A>(_:_:)", "P.<^> infix(_:_:)"), ("closure in <-> infix(_:_:)", "closure in <-> infix(_:_:)"),
      ("a<(b) -> c>.d()", "a.d()"), ("shop.operator<(P<int>)", "shop.operator<(P)"),
      (String(repeating: "a<", count: 20_000) + String(repeating: ">", count: 20_000), "a"),
    ])
  func generics(name: String, shorter: String) {
    #expect(Grouping.withoutGenerics(name) == shorter)
  }

  @Test("D22: two operators give two groups, also by their coarse keys, and keep their names in titles")
  func operators() {
    let groups = [("lxg", "<^>"), ("lsg", "<->"), ("l", "<"), ("gg", ">>")].map { mangled, name in
      let frames = [frame("$s4shop1PV\(mangled)oiyA2C_ACtFZ", "static P.\(name) infix(_:_:)")]
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "trap", process: "shop")
    }
    #expect(Set(groups.map(\.key)).count == 4 && Set(groups.map(\.coarse)).count == 4)
    #expect(groups[0].title == "trap in shop.static P.<^> infix(_:_:)")
    #expect(groups.allSatisfy { $0.version == Grouping.version })
  }

  @Test("D22: uncaught top-level errors are grouped by type and case, not by their values")
  func topLevelErrors() {
    let group = { (message: String) in
      let thread = CrashReport.CrashedThread(
        tid: 1, name: "", crashed: true, frames: [self.frame("main", "main")])
      return Grouping.group(of: thread, kind: "trap", process: "shop", message: message)
    }
    let raised = { (error: String) in
      group("Swift/ErrorType.swift:254: Fatal error: Error raised at top level: \(error)\n")
    }
    let empty = raised("shop.CartError.empty(id: 7)")
    #expect(empty.key == raised("shop.CartError.empty(id: 8)").key)
    #expect(empty.title == "error shop.CartError.empty at top level of shop")
    let others = [empty, raised("shop.CartError.full"), raised("shop.StockError.empty"), group("Fatal error: x")]
    #expect(Set(others.map(\.key)).count == 4 && Set(others.map(\.coarse)).count == 4)
    #expect(Set(others.map(\.exact)).count == 4)
    let texts = ["no file 'a.txt' (errno 2)", "no file 'b.txt' (errno 13)", "no file \"c d\""].map(raised)
    #expect(Set(texts.map(\.key)).count == 1 && texts[0].title == "error no file at top level of shop")
    // If the crash has in-app frames, its key does not depend on the message.
    let thread = CrashReport.CrashedThread(
      tid: 1, name: "", crashed: true, frames: [frame("$s4shop3buyyyF", "buy()"), frame("main", "main")])
    let words = "Fatal error: Error raised at top level: x"
    #expect(
      Grouping.group(of: thread, kind: "trap", process: "shop", message: words).key
        == Grouping.group(of: thread, kind: "trap", process: "shop").key)
  }

  @Test("D8: specialized and merged thunks are not part of a key", arguments: ["TA", "TATm", "TR", "TATQ0_"])
  func thunks(suffix: String) {
    let closure = "$s4shop4MainV4mainyyYaKFZSaySSGyYaKcfU0_"
    let plain = [frame(closure, "closure #2 in static Main.main()"), frame("$s4shop3runyyF", "run()")]
    let thunk =
      suffix == "TR"
      ? "$sxs5Error_pIegHrzo_xsAA_pIegHTrzo_s8SendableRzs5NeverORs_r0_lTRTm" : closure + suffix
    #expect(key(plain) == key([frame(thunk, "thunk"), plain[0], frame(thunk, "thunk"), plain[1]]))
    #expect(Ownership.origin(of: thunk) == .runtime)
  }

  @Test(
    "keys omit callers that optimized builds may lack: closures, merged functions, allocators and deallocators"
  )
  func uncertainCallers() {
    let (buy, run) = (frame("$s4shop3buyyyF", "buy()"), frame("$s4shop3runyyF", "run()"))
    let callers = [
      frame("$s4shop3runyyFyycfU_", "closure #1 in run()"), frame("$s4shop3genyyxlFTm", "merged gen<A>(_:)"),
      frame("$s4shop1QCfD", "Q.__deallocating_deinit"), frame("$s4shop1QC1xACSi_tcfC", "Q.__allocating_init(x:)"),
    ]
    for caller in callers {
      #expect(key([buy, run]) == key([buy, caller, run]), "\(caller.function)")
      // The innermost function is a part of the key, unless it is a utility function such as `gen`.
      let isUtility = caller.function.contains("gen<A>")
      #expect((key([caller, run]) == key([run])) == isUtility, "\(caller.function)")
    }
  }

  @Test(
    "the caller is a part of the key of a check that the program states, and of a utility function, and of no other key"
  )
  func callers() {
    let buy = frame("$s4shop5StoreC3buyyySiF", "Store.buy(_:)")
    let routes = [frame("$s4shop4CartC4routeyyF", "Cart.route()"), frame("$s4shop4UserC4routeyyF", "User.route()")]
    let keys = { (top: [CrashReport.Frame], check: FailedCheck) in
      Set(routes.map { self.key(top + [$0, self.frame("main", "main")], check: check) }).count
    }
    #expect(keys([buy], .builtIn("Index out of range")) == 1 && keys([buy], .unknown) == 1)
    #expect(keys([buy], .stated) == 2)
    let generic = frame("$s4shop9unwrappedyxxSglF", "unwrapped<A>(_:)")
    let member = frame("$sSa4shopE8required2atxSi_tF", "Array.required(at:)")
    #expect(keys([generic], .unknown) == 2 && keys([member], .unknown) == 2 && keys([generic, member], .unknown) == 2)
    // An optimized build can inline a utility function, so that only its caller remains.
    let index = FailedCheck.builtIn("Index out of range")
    let utility = frame("$sSa4shopE8required2atxSi_tF", "Array.required(at:)", column: 9)
    let calls = [4, 8].map { frame("$s4shop4CartC4routeyyF", "Cart.route()", column: $0) }
    #expect(key([utility, calls[0]], check: index) == key([calls[0]], check: index))
    #expect(key([utility, calls[0]], check: index) != key([utility, calls[1]], check: index))
    // The methods of a generic type, and generic methods such as request handlers, are not utility functions.
    #expect(keys([frame("$s4shop4PipeV3runyySiF", "Pipe.run(_:)")], .unknown) == 1)
    #expect(keys([frame("$s4shop4PipeV6handleyyxlF", "Pipe.handle<A>(_:)")], .unknown) == 1)
    #expect(keys([frame("$s4shop4PipeV6handleyyxlFyycfU_", "closure #1 in Pipe.handle<A>(_:)")], .unknown) == 1)
  }

  @Test("the caller of a stated check is outside the type of the check, and is in the title")
  func checkHelpers() {
    let helpers = [
      frame("$s4shop4GateO6refuseyySiFZ", "static Gate.refuse(_:)"),
      frame("$s4shop4GateO6openedyySiFZ", "static Gate.opened(_:)"),
    ]
    let route = frame("$s4shop4CartC4routeyyF", "Cart.route()")
    let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: helpers + [route])
    let group = Grouping.group(of: thread, kind: "trap", check: .stated, process: "shop")
    #expect(group.title == "trap in shop.static Gate.refuse(_:), called by shop.Cart.route()")
    #expect(group.key == key([helpers[0], route], check: .stated))
  }

  @Test("crashes of one function by different checks have different keys, and one coarse key")
  func checks() {
    let checks: [FailedCheck] = [.unknown, .stated, .builtIn("Index out of range"), .builtIn("Division by zero")]
    let groups = checks.map { check in
      let frames = [self.frame("$s4shop3buyyyF", "buy()")]
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "trap", check: check, process: "shop")
    }
    #expect(Set(groups.map(\.key)).count == 4 && Set(groups.map(\.coarse)).count == 1)
  }

  @Test("two built-in checks of one function are two groups by their columns, wherever their lines are")
  func columns() {
    let key = { (column: Int?, line: Int, check: FailedCheck) in
      self.key([self.frame("$s4shop3buyyyF", "buy()", line: line, column: column)], check: check)
    }
    let index = FailedCheck.builtIn("Index out of range")
    #expect(key(12, 3, index) == key(12, 90, index) && key(12, 3, index) != key(20, 3, index))
    #expect(key(nil, 3, index) == key(0, 3, index))
    for check in [FailedCheck.stated, .unknown] { #expect(key(12, 3, check) == key(20, 3, check)) }
  }

  @Test(
    "only functions with arguments have callers that can break a contract",
    arguments: [
      ("shop.Gate.open(_:)", true), ("shop.Gate.open()", false), ("shop.Gate.deinit", false),
      ("shop.Gate.width.getter", false), ("shop.Gate.subscript.getter", true), ("shop.Gate.width.setter", true),
      ("shop.closure in open()", false), ("cs_open", true),
    ])
  func arguments(name: String, takes: Bool) {
    #expect(GroupingText.takesArguments(name) == takes)
  }

  @Test(
    "the type of a method is its name without the method, the arguments and static",
    arguments: [
      ("shop.static Gate.open(_:)", "shop.Gate"), ("shop.Gate.open(_:)", "shop.Gate"), ("shop.buy(_:)", nil),
      ("shop.closure in Cart.total(_:)", nil), ("shop.Cart.total.getter", "shop.Cart"), ("", nil), (".", nil),
      ("shop.Outer.Inner.run()", "shop.Outer.Inner"),
    ] as [(String, String?)])
  func types(name: String, type: String?) {
    #expect(GroupingText.type(of: name) == type)
  }

  @Test("an extension of another module's type is recognized")
  func extensions() {
    #expect(GroupingText.isForeignExtension("(extension in shop):Swift.Array.required(at: Swift.Int) -> A"))
    #expect(!GroupingText.isForeignExtension("(extension in shop):shop.Cart.total() -> Swift.Int"))
    #expect(!GroupingText.isForeignExtension("shop.Cart.total() -> Swift.Int"))
    #expect(!GroupingText.isForeignExtension("(extension in "))
  }

  @Test("@main is an entry point even if it is async, throws, or is specialized")
  func mainTypes() {
    for name in ["5$mainyyFZ", "5$mainyyKFZ", "5$mainyyYaFZ", "5$mainyyYaKFZ", "5$mainyyYaKFZTQ0_", "5$mainyyFZTf4d_n"]
    {
      #expect(Grouping.isEntryPoint("$s4shop4MainV" + name), "\(name)")
    }
    #expect(!Grouping.isEntryPoint("$s4shop4MainV4mainyyFZ"))
  }

  @Test("crashes in different functions, or of different kinds, have different group keys")
  func different() {
    let frames = [frame("$s4shop3buyyyF", "buy()")]
    #expect(key(frames) != key([frame("$s4shop4sellyyF", "sell()")]))
    #expect(key(frames) != key(frames, kind: "abort"))
    #expect(key(frames) != key([frame("$s4bank3buyyyF", "buy()")]))
  }

  @Test("the coarse key has the topmost in-app function, and the exact key has build and source location")
  func otherKeys() throws {
    let images = [CrashReport.Image(path: "/srv/shop", buildID: "ab", base: 0x1000, end: 0x9000)]
    let group = { (caller: String, address: UInt64, images: [CrashReport.Image]) in
      let frames = [
        self.frame("$s4shop3buyyySiF", "buy(_:)", address: address), self.frame("$s4shop1\(caller)yyF", "\(caller)()"),
      ]
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "trap", check: .stated, process: "shop", images: images)
    }
    let one = group("a", 0x2000, images)
    let elsewhere = group("b", 0x2000, images)
    #expect(one.key != elsewhere.key && one.coarse == elsewhere.coarse)
    // An image with the same build ID has the same code, even if it is loaded at another address.
    let moved = [CrashReport.Image(path: "/srv/shop", buildID: "ab", base: 0x2000, end: 0xa000)]
    let rebuilt = [CrashReport.Image(path: "/srv/shop", buildID: "cd", base: 0x1000, end: 0x9000)]
    let single = { (address: UInt64, images: [CrashReport.Image]) in
      let thread = CrashReport.CrashedThread(
        tid: 1, name: "", crashed: true, frames: [self.frame("$s4shop3buyyyF", "buy()", address: address)])
      return Grouping.group(of: thread, kind: "trap", process: "shop", images: images).exact
    }
    #expect(single(0x2000, images) == single(0x3000, moved))
    #expect(single(0x2000, images) != single(0x2004, images))
    #expect(single(0x2000, images) != single(0x2000, rebuilt))
  }

  @Test("main is part of a group key only if no other frame can be")
  func entryPoint() {
    let main = frame("main", "main")
    #expect(key([frame("$s4shop3buyyyF", "buy()"), main]) == key([frame("$s4shop3buyyyF", "buy()")]))
    #expect(key([main]) != key([]))
  }

  @Test("without in-app frames a key uses other frames; without any frame the title names the program")
  func fallbacks() {
    let library = frame("plugin_run", "plugin_run", isOwn: false)
    #expect(key([library]) == key([library, frame("swift_retain", "swift_retain", isOwn: false)]))
    let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: [])
    #expect(Grouping.group(of: thread, kind: "trap", process: "shop").title == "trap in shop")
  }

  @Test("crashes of stripped programs do not share a group by system function names")
  func stripped() {
    let images = [CrashReport.Image(path: "/srv/shop", buildID: "ab", base: 0x1000, end: 0x9000)]
    let group = { (process: String, address: UInt64, base: UInt64) in
      let frames = [
        self.frame("raise", "raise", isOwn: false), self.frame("abort", "abort", isOwn: false),
        self.frame("", "", address: address + base), self.frame("main", "main", address: 0x8000 + base),
      ]
      let moved = images.map {
        CrashReport.Image(path: $0.path, buildID: $0.buildID, base: Address($0.base.rawValue + base), end: 0xf000)
      }
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "abort", process: process, images: moved)
    }
    let one = group("shop", 0x2000, 0)
    #expect(one.key == group("shop", 0x2000, 0x1000).key)
    #expect(one.key != group("shop", 0x3000, 0).key)
    #expect(one.key != group("bank", 0x2000, 0).key)
    #expect(one.coarse == group("shop", 0x3000, 0).coarse && one.coarse != group("bank", 0x2000, 0).coarse)
    // Crashes without in-app frames in two programs belong to two groups.
    let foreign = { (process: String) in
      let frames = [self.frame("raise", "raise", isOwn: false)]
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "abort", process: process, images: images).key
    }
    #expect(foreign("shop") != foreign("bank"))
  }

  @Test("a jump to data has the same group in all builds: the key has the caller, because the first frame has no name")
  func jump() {
    let (caller, elsewhere) = (frame("cs_jump", "cs_jump"), frame("", "", address: 0x2000))
    #expect(key([frame("", ""), caller]) == key([elsewhere, caller]))
    #expect(key([frame("", ""), frame("main", "main")]) != key([elsewhere, frame("main", "main")]))
  }

  @Test("the title of a group names the class of the object and the function")
  func title() {
    let thread = CrashReport.CrashedThread(
      tid: 1, name: "", crashed: true, frames: [frame("$s4shop3buyyyF", "buy()")])
    #expect(Grouping.group(of: thread, kind: "trap", process: "x").title == "trap in shop.buy()")
  }
}

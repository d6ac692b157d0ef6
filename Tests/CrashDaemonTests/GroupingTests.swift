import CrashReport
import Testing

@testable import CrashDaemon

@Suite("Grouping")
struct GroupingTests {
  private func key(_ frames: [CrashReport.Frame], kind: String = "trap") -> String {
    let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
    return Grouping.group(of: thread, kind: kind, process: "shop").key
  }

  private func frame(
    _ mangled: String, _ function: String, line: Int = 1, address: UInt64 = 0x1000, isOwn: Bool = true
  ) -> CrashReport.Frame {
    CrashReport.Frame(
      address: Address(address), function: function, mangled: mangled, file: "/src/a.swift", line: line,
      image: "/srv/shop",
      isOwn: isOwn, trust: .cfi)
  }

  @Test("a debug and a release build of one crash have one key")
  func builds() {
    // Debug: the runtime's frames are there, closures are numbered otherwise, nothing is specialised.
    let debug = [
      frame("$ss17_assertionFailure", "_assertionFailure(_:_:file:line:flags:)", isOwn: false),
      frame("$sSayxSicig", "Array.subscript.getter", isOwn: false),
      frame("$s4shop5StoreC3buyyySiF", "Store.buy(_:)", line: 10),
      frame("$s4shop5StoreC3runyyFyycfU_", "closure #1 in Store.run()", line: 20),
      frame("$s4shop5StoreC3runyyF", "Store.run()", line: 22),
      frame("main", "main", line: 30),
    ]
    let release = [
      frame("$s4shop5StoreC3buyyySiFTf4n_g", "specialized Store.buy(_:)", line: 11, address: 0x9999),
      frame("$s4shop5StoreC3runyyFyycfU0_", "closure #2 in Store.run()", line: 21),
      frame("$s4shop5StoreC3runyyF", "Store.run()", line: 23),
      frame("$s4shop5StoreC5otheryyF", "Store.other()", line: 99),
    ]
    #expect(key(debug) == key(release))
  }

  @Test("the parts of an async function, generics and recursion make no difference")
  func names() {
    let plain = [frame("$s4shop3buyyyYaF", "buy()"), frame("$s4shop3runyyYaF", "run()")]
    let other = [
      frame("$s4shop3buyyyYaFTY0_", "buy()"), frame("$s4shop3buyyyYaFTQ1_", "buy<A>()"),
      frame("$s4shop3runyyYaFTA", "partial apply for run()"), frame("$s4shop3runyyYaF", "run()"),
    ]
    #expect(key(plain) == key(other))
  }

  @Test(
    "what belongs to generics is left out, in one pass",
    arguments: [
      ("a<b<c>, d>()", "a()"), ("<a> b", " b"), ("a > b < c", "a > b < c"), ("(a<b) -> c>", "(a c>"), ("", ""),
      (String(repeating: "<", count: 20_000) + String(repeating: ">", count: 20_000), ""),
    ])
  func generics(name: String, shorter: String) {
    #expect(Grouping.withoutGenerics(name) == shorter)
  }

  @Test("another function, or another class of crash, has another key")
  func different() {
    let frames = [frame("$s4shop3buyyyF", "buy()")]
    #expect(key(frames) != key([frame("$s4shop4sellyyF", "sell()")]))
    #expect(key(frames) != key(frames, kind: "abort"))
    #expect(key(frames) != key([frame("$s4bank3buyyyF", "buy()")]))
  }

  @Test("the coarse key tells the topmost own function, the exact one the build and the place")
  func otherKeys() throws {
    let images = [CrashReport.Image(path: "/srv/shop", buildID: "ab", base: 0x1000, end: 0x9000)]
    let group = { (caller: String, address: UInt64, images: [CrashReport.Image]) in
      let frames = [
        self.frame("$s4shop3buyyyF", "buy()", address: address), self.frame("$s4shop1\(caller)yyF", "\(caller)()"),
      ]
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "trap", process: "shop", images: images)
    }
    let one = group("a", 0x2000, images)
    let elsewhere = group("b", 0x2000, images)
    #expect(one.key != elsewhere.key && one.coarse == elsewhere.coarse)
    // Loaded at another address, it is the same place of the same build.
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

  @Test("main names a group only when nothing else does")
  func entryPoint() {
    let main = frame("main", "main")
    #expect(key([frame("$s4shop3buyyyF", "buy()"), main]) == key([frame("$s4shop3buyyyF", "buy()")]))
    #expect(key([main]) != key([]))
  }

  @Test("without own frames the others name it, without names the program")
  func fallbacks() {
    let library = frame("plugin_run", "plugin_run", isOwn: false)
    #expect(key([library]) == key([library, frame("swift_retain", "swift_retain", isOwn: false)]))
    let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: [])
    #expect(Grouping.group(of: thread, kind: "trap", process: "shop").title == "trap in shop")
  }

  @Test("crashes of stripped programs are not one group for the names of the system")
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
    // Without anything of their own, two programs are two.
    let foreign = { (process: String) in
      let frames = [self.frame("raise", "raise", isOwn: false)]
      let thread = CrashReport.CrashedThread(tid: 1, name: "", crashed: true, frames: frames)
      return Grouping.group(of: thread, kind: "abort", process: process, images: images).key
    }
    #expect(foreign("shop") != foreign("bank"))
  }

  @Test("a title names the class and the function")
  func title() {
    let thread = CrashReport.CrashedThread(
      tid: 1, name: "", crashed: true, frames: [frame("$s4shop3buyyyF", "buy()")])
    #expect(Grouping.group(of: thread, kind: "trap", process: "x").title == "trap in shop.buy()")
  }
}

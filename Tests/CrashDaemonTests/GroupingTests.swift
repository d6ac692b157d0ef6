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

  @Test("a title names the class and the function")
  func title() {
    let thread = CrashReport.CrashedThread(
      tid: 1, name: "", crashed: true, frames: [frame("$s4shop3buyyyF", "buy()")])
    #expect(Grouping.group(of: thread, kind: "trap", process: "x").title == "trap in shop.buy()")
  }
}

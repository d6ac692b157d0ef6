import TestKit
import Testing

@testable import CrashSymbols

@Suite struct DemanglerTests {
  struct Name: CustomTestStringConvertible {
    var mangled: String
    var simplified: String
    var module: String?
    var isThunk = false

    init(_ mangled: String, _ simplified: String, _ module: String?, isThunk: Bool = false) {
      self.mangled = mangled
      self.simplified = simplified
      self.module = module
      self.isThunk = isThunk
    }

    var testDescription: String { mangled }
  }

  static let swiftNames = [
    Name("$s4shop1QC5greet4nameSiSS_tF", "Q.greet(name:)", "shop"),
    Name("$s4shop3top_1bS2i_SitF", "top(_:b:)", "shop"),
    Name("$s4shop1EO1gyyF", "E.g()", "shop"),
    Name("$s4shop1PVyS2icig", "P.subscript.getter", "shop"),
    Name("$s4shop5OuterV5InnerV1cSivW", "Outer.Inner.c.didset", "shop"),
    Name("$s4shop1QCfd", "Q.deinit", "shop"),
    Name("$s4shop1QC5greet4nameSiSS_tFS2icfU_SiyXEfU_", "closure #1 in closure #1 in Q.greet(name:)", "shop"),
    Name("$s4shopAA1QCyXEfU_", "closure #1", "shop"),
    Name("$s4shop3genySixAA7GreeterRzlFAA1PV_Tg5", "specialized gen<A>(_:)", "shop"),
    Name("$s4shop1PV5greet4nameSiSS_tFTf4dn_n", "specialized P.greet(name:)", "shop"),
    Name("$s4shop3pppoiyS2i_SitF", "+++ infix(_:_:)", "shop"),
    Name("$s4shop1PV1loiySbAC_ACtFZ", "static P.< infix(_:_:)", "shop"),
    Name("$s4shop6Hidden33_9FA2B3B623A8A4CB90015546A3E4F2C9LLV1fyxxlF", "Hidden.f<A>(_:)", "shop"),
    Name("$sSayxSicig", "Array.subscript.getter", "Swift"),
    // For a function in an extension, the short name has the module that declares the extension.
    Name("$sSS4shopE5shout4loudSSSb_tF", "String.shout(loud:)", "shop"),
    Name("$sSa4shopAA7GreeterRzlE3allyyFyxXEfU_", "closure #1 in Array<A>.all()", "shop"),
    // Short names neither mark the parts into which an async function is split, nor have suffixes that LLVM appends.
    Name("$s5small7CounterC4bumpyS2iYaKFTY0_", "Counter.bump(_:)", "small"),
    Name("$s5small7CounterC4bumpyS2iYaKFTQ1_", "Counter.bump(_:)", "small"),
    Name("$s4shop1AC1nSivM.resume.0", "A.n.modify", "shop"),
    // Merged functions share one body, which has the name of only one of them.
    Name("$s4shop1PV5greet4nameSiSS_tFTm", "merged P.greet(name:)", "shop"),
    Name("$s4shop3genyyxlFTm.17", "merged gen<A>(_:)", "shop"),
    // The program's own local function can have the name `merged`.
    Name("$s4main1fyyF6mergedL_yyF", "merged #1 () in f()", "main"),
    Name("$s4main1fyyF6mergedL_yyFTm", "merged merged #1 () in f()", "main"),
    // A specialized or merged closure is a function of the program. A specialized or merged thunk remains a thunk.
    Name(
      "$s10TSCUtility16InterruptHandlerCyACyycKcfcys5Int32VcfU_Tf4d_n",
      "specialized closure #1 in InterruptHandler.init(_:)", "TSCUtility"),
    Name(
      "$s10CrashMaker4call33_48B32D6555F36ED9D01AD14777C01DF2LLyq_q_xXE_xtr0_lFSi_SiTg504"
        + "$s10a24Maker12faultInThunk33_48defghijK12LLyyFS2icfU_SaySiGTf1cn_nTf4ng_n",
      "specialized call<A, B>(_:_:)", "CrashMaker"),
    Name("$s4shop4MainV4mainyyYaKFZTf4d_nTY1_", "specialized static Main.main()", "shop"),
    Name(
      "$s10Foundation6NSDataCys5UInt8VSicigySV_AA8_NSRangeVSpySbGtXEfU_TATm",
      "merged partial apply for closure #1 in NSData.subscript.getter", "Foundation", isThunk: true),
    // The runtime prints `@Sendable` after the name of a function with this attribute.
    Name("$s4ShopAAO5crashySSAA3ReqV_xtYaYbKlFZTY0_", "static Shop.crash<A>(_:_:)", "Shop"),
    Name("$s4ShopAAO5plainySiAA3ReqVYbFZ", "static Shop.plain(_:)", "Shop"),
    // Outlined functions, into which the compiler has moved code of other functions.
    Name("$s4shop1PVWOc", "outlined init with copy of P", "shop"),
    Name("$s4shop1QCWOh", "outlined destroy of Q", "shop"),
    // Partial applications, protocol witnesses and initializers of classes are thunks; initializers of structs are not.
    Name(
      "$s4shop1AC4bump2byS2i_tYaKFSiyYacfU_TA.17TQ0_", "partial apply for closure #1 in A.bump(by:)", "shop",
      isThunk: true),
    Name(
      "$s4shop1PVAA7GreeterA2aDP5greet4nameSiSS_tFTW", "protocol witness for Greeter.greet(name:) in conformance P",
      "shop", isThunk: true),
    Name("$s4shop1QC1xACSi_tcfC", "Q.__allocating_init(x:)", "shop"),
    Name("$s4shop1PV1xACSi_tcfC", "P.init(x:)", "shop"),
  ]

  @Test(
    "the demangler returns the short form and the module of a Swift name, and whether it is a thunk",
    arguments: swiftNames)
  func swift(name: Name) {
    #expect(Demangler.simplified(name.mangled) == name.simplified)
    #expect(Demangler.module(of: name.mangled) == name.module)
    #expect(Demangler.isThunk(name.mangled) == name.isThunk)
  }

  @Test("the demangler recognizes an outlined copy function as compiler-generated", arguments: swiftNames)
  func outlined(name: Name) {
    #expect(Demangler.isOutlined(name.mangled) == name.simplified.hasPrefix("outlined "))
  }

  @Test("the full form of a Swift name includes types, effects and the part number of an async function")
  func full() {
    #expect(
      Demangler.full("$s5small7CounterC4bumpyS2iYaKFTY0_")
        == "(1) suspend resume partial function for small.Counter.bump(Swift.Int) async throws -> Swift.Int")
  }

  @Test("all parts of top-level code with an await have the same short name")
  func asyncMain() {
    #expect(Demangler.simplified("async_Main") == "async_Main")
    #expect(Demangler.simplified("async_MainTY1_") == "async_Main")
    #expect(Demangler.simplified("async_MainTQ0_.resume.0") == "async_Main")
  }

  @Test("C++ names are demangled and have no module")
  func cxx() {
    #expect(Demangler.full("_ZN4llvm3fooEi") == "llvm::foo(int)")
    #expect(Demangler.simplified("_ZN4llvm3fooEi") == "llvm::foo(int)")
    #expect(Demangler.module(of: "_ZN4llvm3fooEi") == nil)
    #expect(!Demangler.isThunk("_ZN4llvm3fooEi"))
  }

  @Test(
    "the demangler returns a name that is not mangled unchanged",
    arguments: [
      "", "main", "Swift runtime failure: Index out of range", "$s", "$s4sho", "$s99999999999999999999a", "_Z",
      "_T0", "$s4shop1PV1xACSi_tcfC\u{fffd}", "..", "_",
      "$s4shop1PV1xACSi_tcfC" + String(repeating: "_", count: 8192),
    ])
  func unchanged(name: String) {
    #expect(Demangler.full(name) == name)
    #expect(Demangler.simplified(name) == name)
    #expect(!Demangler.isThunk(name))
  }

  @Test("the search for a name's module accepts any string without a trap", arguments: 0..<200)
  func survives(seed: Int) {
    let pieces = [
      "(", ")", "<", ">", "[", " in ", " of ", " for ", ".", ":", " : ", ", ", "a", "#1", " where ", " infix(",
    ]
    var generator = SplitMix64(state: UInt64(seed))
    let text = (0..<12).map { _ in pieces.randomElement(using: &generator) ?? "" }.joined()
    #expect((SwiftNameModule.module(ofFull: text) ?? "").count <= text.count)
  }
}

import CrashReport
@testable import CrashRing
import CrashSymbols
import Glibc
import TestKit
import Testing

@testable import CrashDaemon

@Suite("The report builder")
struct ReportBuilderTests {
  @Test("a Swift runtime failure is reported as the reason of the crash, not as a frame")
  func runtimeFailure() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [
        SourceFrame(mangled: "Swift runtime failure: Index out of range", isInline: true),
        SourceFrame(mangled: "$sSayxSicig", isInline: true),
        SourceFrame(mangled: "$s4shop3buyyyF", symbolAddress: 0x8, file: "/src/shop.swift", line: 12),
      ]
    ])
    let record = CrashRecord.sample(signal: SIGILL, code: 2, frames: [.at(0x10010, exact: true)])
    let report = try #require(RingContents.sample([record]).report(symbols))
    #expect(report.reason == "Swift runtime failure: Index out of range")
    #expect(report.threads[0].frames.map(\.mangled) == ["$sSayxSicig", "$s4shop3buyyyF"])
    #expect(report.threads[0].frames.map(\.isInline) == [true, false])
    #expect(report.threads[0].frames.map(\.isOwn) == [false, true])
    #expect(report.threads[0].frames[1].symbolAddress == 0x10008)
    #expect(report.diagnosis.cause == "swift-runtime-failure")
  }

  @Test("a report lists the survived fault after the fatal one, and its thread with the other threads")
  func survived() throws {
    var recovered = CrashRecord.sample(signal: SIGSEGV)
    recovered.tid = 11
    var first = CrashRecord.sample(signal: SIGABRT)
    (first.tid, first.sequence) = (12, 1)
    var second = CrashRecord.sample(signal: SIGBUS)
    (second.tid, second.sequence) = (13, 2)
    var contents = RingContents.sample([recovered, first, second])
    contents.threads = [11, 12, 14].map { ThreadRecord(tid: $0, name: "", answer: .whole) }
    #expect(try #require(contents.report()).signal.name == "SIGSEGV")
    contents.survived = 1
    let report = try #require(contents.report())
    #expect(report.signal.name == "SIGABRT")
    #expect(report.threads.map(\.tid) == [12, 13, 11, 11, 14])
    #expect(report.threads.map(\.crashed) == [true, true, true, false, false])
  }

  @Test("a frame has the function's full name only if that differs from the short name")
  func signatures() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: "$s4shop3buyyyYaKF", isInline: true), SourceFrame(mangled: "main")]
    ])
    let record = CrashRecord.sample(frames: [.at(0x10010, exact: true)])
    let report = try #require(RingContents.sample([record]).report(symbols))
    #expect(report.threads[0].frames.map(\.function) == ["buy()", "main"])
    #expect(report.threads[0].frames.map(\.signature) == ["shop.buy() async throws -> ()", nil])
  }

  @Test("an image has a reason for missing names or lines only if some are missing")
  func gaps() throws {
    let record = CrashRecord.sample(frames: [.at(0x10010, exact: true)])
    let gap = SymbolGap(reason: "the image has build id 00, not abcd")
    let symbols = { (chain: [SourceFrame], gap: SymbolGap?) in
      SampleSymbols(chains: [0x10: chain], gaps: gap.map { ["abcd": $0] } ?? [:])
    }
    let reason = { (symbols: SampleSymbols, path: String) throws in
      try #require(RingContents.sample([record], image: path).report(symbols)).images[0].symbols
    }
    let (named, lined) = (SourceFrame(mangled: "sell"), SourceFrame(mangled: "sell", file: "/src/a.c", line: 3))
    #expect(try reason(symbols([], gap), "/srv/shop") == gap.reason)
    #expect(try reason(symbols([named], gap), "/srv/shop") == gap.reason)
    #expect(try reason(symbols([lined], gap), "/srv/shop") == nil)
    #expect(try reason(symbols([], nil), "/srv/shop") == nil)
    // A system library without lines gets no reason, because it usually has only the names of functions.
    let names = SymbolGap(reason: "it has names only", isNamesOnly: true)
    #expect(try reason(symbols([], names), "/usr/lib/libc.so.6") == nil)
    #expect(try reason(symbols([], gap), "/usr/lib/libc.so.6") == gap.reason)
    #expect(try reason(symbols([named], names), "/srv/shop") == names.reason)
  }

  @Test("a return address is symbolicated one byte before it, an exact pc at its own address")
  func adjustment() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: "exact")], 0x1f: [SourceFrame(mangled: "caller")],
      0x30: [SourceFrame(mangled: "resume")],
    ])
    let record = CrashRecord.sample(
      frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x10030, exact: true, async: true)])
    let frames = try #require(RingContents.sample([record]).report(symbols)).threads[0].frames
    #expect(frames.map(\.mangled) == ["exact", "caller", "resume"])
    #expect(frames.map(\.isAsync) == [false, false, true])
    #expect(frames[1].address == 0x10020)
  }

  @Test("names and paths of a hostile image contain no terminal escape sequences")
  func escapes() throws {
    let symbols = SampleSymbols(chains: [0x10: [SourceFrame(mangled: "f\u{1b}[2J\n", file: "/\u{9b}1m/a.c", line: 1)]])
    let record = CrashRecord.sample(frames: [.at(0x10010, exact: true)])
    let report = try #require(RingContents.sample([record]).report(symbols))
    let frame = report.threads[0].frames[0]
    for text in [frame.function, frame.mangled, frame.file ?? "", report.diagnosis.sentence, report.group.title] {
      #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && !(0x7f...0x9f).contains($0.value) })
    }
  }

  @Test("a report has a bounded size, even if a hostile image has long inline chains and names")
  func endlessNames() throws {
    let long = String(repeating: "x", count: 8_000)
    let chain = (0..<200).map { SourceFrame(mangled: "f\($0)\(long)", file: "/\(long)", isInline: $0 < 199) }
    let frames = [CrashRecord.Frame](repeating: .at(0x10010, exact: true), count: 256)
    let records = (0..<64).map { slot in
      var record = CrashRecord.sample(frames: frames)
      record.slot = slot
      return record
    }
    let report = try #require(RingContents.sample(records).report(SampleSymbols(chains: [0x10: chain])))
    let bytes = report.threads.flatMap(\.frames).reduce(0) { $0 + $1.function.utf8.count + $1.mangled.utf8.count }
    #expect(bytes < 8 << 20)
    // Frames beyond the limit have an address and no name.
    #expect(report.threads.allSatisfy { $0.frames.count >= 256 && $0.frames.last?.address == 0x10010 })
  }

  @Test("an exception type whose demangled name would be too long stays mangled")
  func endlessException() {
    let name = "1GI" + (0..<24).reduce("1GIiiE") { name, index in "\(name)S_IS\(index % 10)_S\(index % 10)_E" } + "E"
    let facts = CrashFacts(record: .sample(signal: SIGABRT, exceptionType: name), pid: 1)
    #expect(facts.exceptionType == name)
    #expect(
      CrashFacts(record: .sample(exceptionType: "St13runtime_error"), pid: 1).exceptionType == "std::runtime_error")
  }

  @Test("a frame without symbols is reported with its address and image")
  func unknownFrame() throws {
    let record = CrashRecord.sample(frames: [.at(0x10010, exact: true)])
    let frame = try #require(RingContents.sample([record]).report()).threads[0].frames[0]
    #expect(frame.address == 0x10010)
    #expect(frame.image == "/srv/shop")
    #expect(frame.function.isEmpty)
  }

  @Test("a crash that has only runtime frames has no source location")
  func noPlace() throws {
    let symbols = SampleSymbols(chains: [
      0x10: [
        SourceFrame(mangled: "$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF")
      ],
      0x1f: [SourceFrame(mangled: "async_MainTY1_", file: "/src/main.swift")],
      0x2f: [SourceFrame(mangled: "helper", file: "/<compiler-generated>")], 0x40: [SourceFrame(mangled: "caller")],
    ])
    let record = CrashRecord.sample(
      signal: SIGILL, code: 2, message: "Swift/ErrorType.swift:254: Fatal error: Error raised at top level: E()",
      frames: [
        .at(0x10010, exact: true), .at(0x10020), .at(0x10030), .at(0x10040, exact: true, async: true),
      ])
    var contents = RingContents.sample([record], image: "/usr/lib/libswiftCore.so")
    contents.identity.executable = "/srv/shop"
    let report = try #require(contents.report(symbols))
    #expect(report.threads[0].frames.map(\.function)[1] == "async_Main")
    #expect(report.diagnosis.sentence == "Swift stopped the program: Error raised at top level: E().")
  }

  @Test("the gap in a deep recursion follows the innermost frames; its position counts inlined frames")
  func gap() throws {
    var record = CrashRecord.sample(frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x10030)])
    record.frameHead = 2
    record.frameTotal = 1_000
    let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: "inner", isInline: true), SourceFrame(mangled: "outer")]
    ])
    let thread = try #require(RingContents.sample([record]).report(symbols)).threads[0]
    #expect(thread.framesOmitted == 997)
    #expect(thread.framesBeforeGap == 3)
  }

  @Test("the first crashed thread gives the report's signal, and the others have their own")
  func threads() throws {
    var second = CrashRecord.sample(signal: SIGSEGV)
    second.sequence = 1
    let first = CrashRecord.sample(signal: SIGABRT, code: -6, abortMessage: "first\n")
    let report = try #require(RingContents.sample([second, first]).report())
    #expect(report.signal.name == "SIGABRT")
    #expect(report.threads.map(\.signal?.name) == ["SIGABRT", "SIGSEGV"])
    #expect(report.reason == "first")
    #expect(report.threads[1].reason == nil)
  }

  @Test("pid, user and executable come from the kernel, not from the ring")
  func identity() throws {
    let report = try #require(RingContents.sample([.sample()]).report())
    #expect(report.process.pid == 7)
    #expect(report.process.uid == 1000)
    #expect(report.process.buildID == "abcd")
  }

  @Test("no report is made from a ring without a crash")
  func none() {
    #expect(RingContents.sample([]).report() == nil)
  }

  @Test("the registers in a report have their names")
  func registers() throws {
    let registers = try #require(RingContents.sample([.sample(pc: 0x1234, sp: 0x99)]).report()).threads[0].registers
    #if arch(x86_64)
      #expect(registers["rip"] == 0x1234)
      #expect(registers["rsp"] == 0x99)
      #expect(registers.count == 18)
    #else
      #expect(registers["x16"] == 0x1234)
    #endif
  }
}

@Suite("In-app frames")
struct OwnershipTests {
  static let own: [(String, String?, String, Bool)] = [
    ("$s4shop3buyyyF", "/src/shop.swift", "/srv/shop", true),
    ("cs_fault_null_read", "/src/faults.c", "/srv/shop", true),
    ("main", "/src/main.swift", "/srv/shop", true),
    // Functions of a statically linked runtime are not in-app.
    ("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF", nil, "/srv/shop", false),
    ("$sSayxSicig", nil, "/srv/shop", false),
    ("swift_retain", nil, "/srv/shop", false),
    ("_dispatch_call_block_and_release", nil, "/srv/shop", false),
    ("_start", nil, "/srv/shop", false),
    ("_ZL23completeTaskWithClosurePN5swift12AsyncContextEPNS_10SwiftErrorE", nil, "/srv/shop", false),
    ("_ZZN5swift4lazyEvE1f", nil, "/srv/shop", false),
    ("_ZN12_GLOBAL__N_18ActorJobEPN5swift9AsyncTaskE", nil, "/srv/shop", false),
    ("_ZN7__swift9__runtime4llvm9StringRefE", nil, "/srv/shop", false),
    ("___dispatch_queue_wakeup_block_invoke", nil, "/srv/shop", false),
    ("__DISPATCH_WAIT_FOR_QUEUE__", nil, "/srv/shop", false),
    ("_Block_copy", nil, "/srv/shop", false),
    ("objectdestroyTm", nil, "/srv/shop", false),
    ("CFRunLoopRun", nil, "/srv/shop", false),
    ("_ZN6icu_7410UnicodeSet3addEi", nil, "/srv/shop", false),
    ("CFilterRun", "/src/filter.c", "/srv/shop", true),
    ("_ZN4shop5StoreC1Ev", nil, "/srv/shop", true),
    // Libraries.
    ("__libc_start_main", nil, "/usr/lib/x86_64-linux-gnu/libc.so.6", false),
    ("anything", "/src/a.c", "/opt/swift/usr/lib/swift/linux/libswiftCore.so", false),
    ("plugin_main", "/src/p.c", "/srv/plugins/libplugin.so", true),
    // The code of a dependency and code that the compiler generated are not in-app.
    ("$s7NIOCore4readyyF", "/src/.build/checkouts/swift-nio/Sources/NIOCore/A.swift", "/srv/shop", false),
    ("$s4shop3buyyyF", "/<compiler-generated>", "/srv/shop", false),
    ("$s4shop3buyyyFTA", "/src/shop.swift", "/srv/shop", false),
  ]

  @Test("D4: the file and the function decide whether a frame is in-app; the line never does")
  func lineZero() {
    for line in [nil, 12] as [Int?] {
      let isOwn = { Ownership.isOwn(mangled: $0, file: $1, line: line, image: "/srv/shop") }
      #expect(isOwn("$s4shop6ScreenC5widthSiyF", "/src/Screen.swift"))
      #expect(isOwn("$s4shop17AccountMiddlewareV6handleSSyYaFTQ4_", "/src/Middleware.swift"))
      #expect(isOwn("shop_run", "/src/shop.c"))
      #expect(!isOwn("$s4shop3buyyyFTA", "/src/shop.swift"))
      #expect(!isOwn("$s4shop3buyyyF", "/<compiler-generated>"))
    }
    for name in [
      "$s4shop4LeafCMa", "$s4shop4MainV5$mainyyFZ", "$s4shop4MainV5$mainyyYaKFZTQ1_", "main",
      "$sS2cs13CustomStringConvertible4shopWl", Self.methodReference, Self.methodReference + "TQ0_",
    ] {
      #expect(!Ownership.isOwn(mangled: name, file: "/src/shop.swift", line: nil, image: "/srv/shop"), "\(name)")
    }
  }

  /// The mangled name of the closure that the compiler creates in `main` for `shop.respond` as an argument.
  private static let methodReference =
    "$s10DemoServerAAV4mainyyYaKFZAA10HTTPServerV8ResponseVAE7RequestVYaYbcAA4ShopVYbcfu_AgIYaYbcfu0_"

  @Test("D12: a forwarded method is not in-app, but a closure in it is")
  func methodReferences() {
    let isOwn = { Ownership.isOwn(mangled: $0, file: "/src/Shop.swift", line: $1, image: "/srv/shop") }
    #expect(!isOwn(Self.methodReference, nil) && isOwn(Self.methodReference, 12))
    #expect(isOwn(Self.methodReference + "U_", nil))
    #expect(isOwn("$s4shop3buyyyFSbyXEfu_", nil))
  }

  @Test("S2: a function without a file belongs to a dependency if other functions of its module have files")
  func dependencyWithoutFile() throws {
    let file = "/src/.build/checkouts/swift-nio/Sources/NIOCore/A.swift"
    let symbols = SampleSymbols(chains: [
      0x10: [SourceFrame(mangled: "$s4shop3buyyyF")], 0x1f: [SourceFrame(mangled: "$s7NIOCore5writeyyF")],
      0x2f: [SourceFrame(mangled: "$s7NIOCore4readyyF", file: file, line: 3)],
    ])
    let record = CrashRecord.sample(frames: [.at(0x10010, exact: true), .at(0x10020), .at(0x10030)])
    let frames = try #require(RingContents.sample([record]).report(symbols)).threads[0].frames
    #expect(frames.map(\.isOwn) == [true, false, false])
  }

  @Test(
    "D12: an inlined function of a system header is not in-app",
    arguments: [
      ("_ZNRSt8optionalIiE5valueEv", "/usr/include/c++/12/optional"),
      ("_ZN4shop5valueEv", "/usr/lib/gcc/x86_64-linux-gnu/12/../../../../include/c++/12/optional"),
      ("strcpy", "/usr/include/x86_64-linux-gnu/bits/string_fortified.h"),
      ("_mm_load_ps", "/usr/lib/llvm-19/lib/clang/19/include/xmmintrin.h"),
      ("_mm_load_ps", "/opt/swift/usr/lib/clang/21/include/xmmintrin.h"), ("_ZNKRSt8optionalIiE5valueEv", "/src/a.cpp"),
    ])
  func headers(mangled: String, file: String) {
    #expect(!Ownership.isOwn(mangled: mangled, file: file, line: 7, image: "/srv/shop"))
    #expect(Ownership.isOwn(mangled: "shop_run", file: "/src/include/shop.h", line: 7, image: "/srv/shop"))
  }

  @Test("D13: a convenience initializer is in-app; __allocating_init without a line is not")
  func initializers() {
    let isOwn = { Ownership.isOwn(mangled: $0, file: "/src/Leaf.swift", line: $1, image: "/srv/shop") }
    #expect(isOwn("$s4shop4LeafC4textACSS_tcfC", 118))
    #expect(!isOwn("$s4shop4LeafC4textACSS_tcfC", nil))
    #expect(isOwn("$s4shop4LeafC4textACSS_tcfc", nil))
    // For a struct or an enum, this suffix (fC) is that of the program's own initializer.
    #expect(isOwn("$s4shop4LeafV4textACSS_tcfC", nil))
  }

  @Test("code of the program is in-app, code of runtimes and libraries is not", arguments: own)
  func rules(mangled: String, file: String?, image: String, isOwn: Bool) {
    #expect(Ownership.isOwn(mangled: mangled, file: file, line: 1, image: image) == isOwn)
  }

  @Test("D19: the shield's own code in the process is not in-app")
  func shield() {
    let file = "/src/swift-crash-shield/CShim/Handler/Setup/attach_client.c"
    #expect(!Ownership.isOwn(mangled: "receive", file: file, line: 76, image: "/srv/shop"))
    #expect(!Ownership.isOwn(mangled: "receive", file: nil, line: nil, image: "/srv/lib/libcrashshield.so"))
    #expect(Ownership.isOwn(mangled: "receive", file: "/src/shop/receive.c", line: 76, image: "/srv/shop"))
  }

  @Test("a frame whose address is in no image is not in-app")
  func noImage() {
    #expect(!Ownership.isOwn(mangled: "f", file: nil, line: nil, image: nil))
    #expect(!Ownership.isOwn(mangled: "f", file: nil, line: nil, image: "[vdso]"))
  }

  @Test("threads that did not crash follow the crashed threads, with names and without a signal")
  func otherThreads() throws {
    var contents = RingContents.sample([.sample(frames: [.at(0x10010, exact: true)])])
    contents.threads = [
      ThreadRecord(tid: 21, name: "loop", answer: .whole, frames: [.at(0x10020)], frameHead: 1, frameTotal: 1),
      ThreadRecord(tid: 22, name: "signals", answer: .blocked, runState: "S"),
    ]
    let symbols = SampleSymbols(chains: [0x1f: [SourceFrame(mangled: "wait")]])
    let report = try #require(contents.report(symbols))
    #expect(report.threads.map(\.crashed) == [true, false, false])
    let loop = report.threads[1]
    #expect(loop.name == "loop" && loop.signal == nil && loop.silence == nil)
    #expect(loop.frames.map(\.function) == ["wait"])
    #expect(report.threads[2].silence == CrashReport.Silence(isBlocking: true, runState: "S"))
  }
}

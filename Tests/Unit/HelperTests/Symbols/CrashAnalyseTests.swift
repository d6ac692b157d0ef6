import CrashSymbols
import Foundation
import TestKit
import Testing

@Suite struct CrashAnalyseTests {
  private static let program = TestProgram.url("crash-analyse")

  private static func buildCache(_ image: URL, buildID: String = "") throws -> TestProgram.Answer {
    try Tools.run(program, ["build-cache", "--build-id", buildID], input: image)
  }

  /// Writes the bytes to a file, runs `build-cache` on this file, and returns its output.
  private static func buildCache(of bytes: Data) throws -> TestProgram.Answer {
    try Tools.withTemporaryFolder { folder in
      let image = folder.appendingPathComponent("image")
      try bytes.write(to: image)
      return try buildCache(image)
    }
  }

  @Test("crash-analyse makes an image's symbol cache, with and without a given build id")
  func good() throws {
    let any = try Self.buildCache(Self.program)
    #expect(any.status == 0)
    #expect(any.error == "")
    let id = try SymbolCacheTests.open([UInt8](any.output)).buildID
    #expect(id.count == 40)
    let asked = try Self.buildCache(Self.program, buildID: id)
    #expect(asked.status == 0)
    #expect(asked.output == any.output)
  }

  @Test("crash-analyse reads function names from a shared library without debug information")
  func namesOnly() throws {
    let library = try Tools.mappedFile(named: "libc.so.6")
    let answer = try Self.buildCache(library)
    #expect(answer.status == 0)
    let cache = try SymbolCacheTests.open([UInt8](answer.output))
    #expect(!cache.hasDebugInformation)
    let address = try #require(try ELFFile(path: library.path).addressOfFunction["abort"])
    #expect(cache.frames(at: address + 1) == [SourceFrame(mangled: "abort", symbolAddress: address)])
  }

  @Test("check-names checks names one by one, and marks a name whose demangled text is too long")
  func names() throws {
    // A C++ name in which each template argument contains the previous one twice. With 8 arguments, the demangled text
    // has 8 KiB; with 11, it has 64 KiB.
    let growing = { (count: Int) in "_Z1f1aIiiE" + "0123456789A".prefix(count).map { "S_IS\($0)_S\($0)_E" }.joined() }
    let answer = try Tools.withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("names")
      try Data("main\0\(growing(11))\0\(growing(8))\0$s4shop3buyyyF\0cut off".utf8).write(to: input)
      return try Tools.run(Self.program, ["check-names"], input: input)
    }
    #expect(answer.status == 0)
    #expect([UInt8](answer.output) == [1, 2, 1, 1])
  }

  /// Debug information of 3,000 units.
  ///
  /// All of them use one list of 4,000 address ranges, so reading it is expensive.
  private static let sharedRanges = """
      .text
      .globl shop
      .type shop, @function
    shop: .fill 64, 1, 0x90
      .size shop, 64
      .section .debug_abbrev
      .byte 1, 0x11, 0, 0x11, 1, 0x55, 0x17, 0, 0, 0
      .section .debug_info
      .rept 3000
      .long 20
      .short 4
      .long .debug_abbrev
      .byte 8, 1
      .quad shop
      .long 0
      .endr
      .section .debug_ranges
      .rept 4000
      .quad 0, 1
      .endr
      .quad 0, 0

    """

  @Test(
    "F20: the kernel kills crash-analyse if an image needs far more CPU time than others of its size",
    .disabled(if: Tools.isSanitized, "the limit counts starts, and a sanitizer's costs more than the limit assumes"))
  func costlyImage() throws {
    try Tools.withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("a.s")
      try Self.sharedRanges.write(to: source, atomically: true, encoding: .utf8)
      let image = folder.appendingPathComponent("a.so")
      try OptimizedProgram.compile(
        ["-shared", "-nostdlib", "-o", image.path, source.path], in: folder)
      #expect(try Self.buildCache(image).status == -SIGKILL)
    }
  }

  @Test("crash-analyse refuses an image with another build id, and prints both build ids")
  func wrongBuildID() throws {
    let answer = try Self.buildCache(Self.program, buildID: "00ff")
    #expect(answer.status == 65)
    #expect(answer.output.isEmpty)
    #expect(answer.error.hasPrefix("crash-analyse: the image has build id "))
    #expect(answer.error.hasSuffix(", not 00ff\n"))
  }

  /// Returns a Swift name of about 5 · `levels` bytes, whose demangled form contains 2^`levels` types.
  ///
  /// Each generic type in the name has the type before it as both of its arguments.
  static func swellingName(levels: Int) -> String {
    let letters = "EFGHIJKLMNOPQRSTUVWXYZ".prefix(levels - 1)
    return "$s1a1fyyAA1GVy" + String(repeating: "ADy", count: levels - 1) + "S2iG"
      + letters.map { "A\($0)G" }.joined() + "_SitF"
  }

  @Test("a name whose demangled form would be too long is omitted from the cache", arguments: [(3, true), (12, false)])
  func swellingNames(levels: Int, isKept: Bool) throws {
    try Tools.withTemporaryFolder { folder in
      let name = Self.swellingName(levels: levels)
      let source = folder.appendingPathComponent("a.c")
      try "int f(int) __asm__(\"\(name)\"); int f(int a) { return a; }".write(
        to: source, atomically: true, encoding: .utf8)
      let image = folder.appendingPathComponent("a.so")
      try OptimizedProgram.compile(
        ["-g", "-fPIC", "-shared", "-nostdlib", source.path, "-o", image.path], in: folder)
      let answer = try Self.buildCache(image)
      #expect(answer.status == 0)
      let cache = try SymbolCacheTests.open([UInt8](answer.output))
      let address = try #require(try ELFFile(path: image.path).addressOfFunction[name])
      #expect(cache.frames(at: address).map(\.mangled) == [isKept ? name : ""])
    }
  }

  @Test("crash-analyse refuses a file that is not an ELF file")
  func strangers() throws {
    #expect(try Self.buildCache(of: Data()).said == "65 the file is empty")
    #expect(try Self.buildCache(of: Data("#!/bin/sh\necho no\n".utf8)).said == "65 not an ELF file")
    #expect(try Self.buildCache(of: Data([0x7f, 0x45, 0x4c, 0x46])).said == "65 not an ELF file")
    #expect(try Self.buildCache(URL(fileURLWithPath: "/dev/null")).said == "65 not a regular file")
    #expect(try Self.buildCache(FileManager.default.temporaryDirectory).said == "65 not a regular file")
  }

  @Test("crash-analyse refuses an image that is truncated to any length", arguments: 1..<20)
  func truncated(part: Int) throws {
    let whole = try Data(contentsOf: Self.program)
    let answer = try Self.buildCache(of: whole.prefix(whole.count * part / 20))
    #expect(answer.status == 65)
    #expect(answer.error.hasPrefix("crash-analyse: the ELF file is cut off: it ends before "))
  }

  @Test(
    "for a damaged image, crash-analyse makes a cache or prints a one-line error, and does not crash",
    arguments: 0..<40)
  func damaged(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    var bytes = try Data(contentsOf: Self.program)
    // Even seeds damage bytes from the end of the ELF header on, odd seeds only bytes after the first 4 KiB.
    for _ in 0..<2000 {
      let offset = Int.random(in: (seed % 2 == 0 ? 64 : 4096)..<bytes.count, using: &generator)
      bytes[offset] = .random(in: 0...255, using: &generator)
    }
    let answer = try Self.buildCache(of: bytes)
    #expect([0, 65].contains(answer.status), "\(answer.status) \(answer.error)")
    #expect(answer.error.filter(\.isNewline).count == (answer.status == 0 ? 0 : 1))
    if answer.status == 0 { #expect(throws: Never.self) { try SymbolCacheTests.open([UInt8](answer.output)) } }
  }

  @Test(
    "crash-analyse prints a usage error for a wrong command line",
    arguments: [[], ["build-cache"], ["build-cache", "--id", "00"]])
  func usage(arguments: [String]) throws {
    let answer = try Tools.run(Self.program, arguments, input: Self.program)
    #expect(answer.status == 64)
    #expect(answer.error.hasPrefix("crash-analyse: usage: "))
  }
}

extension TestProgram.Answer {
  /// The exit status, and the error line without the prefix `crash-analyse: `.
  fileprivate var said: String {
    "\(status) " + error.replacingOccurrences(of: "crash-analyse: ", with: "").trimmingCharacters(in: .newlines)
  }
}

import CrashSymbols
import Foundation
import TestKit
import Testing

/// Compares complete chains of inlined functions with the output of the toolchain's llvm-symbolizer.
@Suite struct OracleTests {
  @Test(
    "every inline chain of a debug build equals that of llvm-symbolizer",
    arguments: ["crash-analyse", "crash-maker"])
  func debugBuild(product: String) throws {
    let image = TestProgram.url(product)
    let chains = try Self.compare(image, cache: try Tools.cache(of: image))
    #expect(chains.count { $0.first?.line ?? 0 > 0 } > 50)
  }

  @Test("every inline chain of optimized Swift and C equals that of llvm-symbolizer", arguments: [4, 5])
  func optimizedBuild(dwarfVersion: Int) throws {
    try Tools.withTemporaryFolder { folder in
      let image = try OptimizedProgram.build(in: folder, dwarfVersion: dwarfVersion)
      let cache = try Tools.cache(of: image)
      let chains = try Self.compare(image, cache: cache)
      // The comparison proves something only if the image contains inlined calls of both languages.
      #expect(chains.count { $0.count > 2 } > 100)
      #expect(chains.contains { $0.map(\.function) == ["half", "twice", "discount"] })
      // The compiler encodes the reason of a trap as the name of an inlined function that does not exist.
      #expect(chains.contains { $0.first?.function == "Swift runtime failure: Index out of range" })
    }
  }

  @Test(
    "a cache for some addresses returns the same chains there as the complete cache, and is much smaller",
    arguments: [1, 40])
  func partial(count: Int) throws {
    let image = TestProgram.url("crash-analyse")
    let whole = try Tools.cache(of: image)
    let addresses = Self.addresses(in: try ELFFile(path: image.path), count: count)
    let part = try Tools.cache(of: image, addresses: addresses)
    #expect(part.isPartial && !whole.isPartial)
    for address in addresses { #expect(part.frames(at: address) == whole.frames(at: address)) }
    #expect(addresses.contains { !part.frames(at: $0).isEmpty })
    #expect(part.size < whole.size / 2 || count > 1)
  }

  @Test("linkage names of C++ code that has only line tables come from the symbol table")
  func lineTablesOnly() throws {
    try Tools.withTemporaryFolder { folder in
      let source = folder.appendingPathComponent("shelf.cpp")
      try OptimizedProgram.cxxSource.write(to: source, atomically: true, encoding: .utf8)
      let image = folder.appendingPathComponent("shelf.so")
      try OptimizedProgram.compile(
        with: "clang++", ["-O1", "-gline-tables-only", "-fPIC", "-shared", "-nostdlib", source.path, "-o", image.path],
        in: folder)
      let chains = try Self.compare(image, cache: try Tools.cache(of: image))
      #expect(chains.contains { $0.map(\.function) == ["half", "_ZN5Shelf5priceEi"] })
    }
  }

  /// Compares the cache with llvm-symbolizer at many addresses of an image, and returns the chains of llvm-symbolizer.
  private static func compare(_ image: URL, cache: SymbolCache) throws -> [[OracleFrame]] {
    let elf = try ELFFile(path: image.path)
    let addresses = addresses(in: elf, count: 2000)
    let truth = try oracle(image: image, addresses: addresses)
    #expect(cache.hasDebugInformation)
    #expect(!cache.isIncomplete)
    #expect(truth.count == addresses.count)
    var different: [String] = []
    var declared = 0
    for (address, expected) in zip(addresses, truth) {
      let found = cache.frames(at: address)
      declared += found.count { $0.declaration != nil }
      if !equal(found, expected, elf) {
        different.append("0x\(String(address, radix: 16))\n  found \(found)\n  truth \(expected)")
      }
    }
    let examples = different.prefix(5).joined(separator: "\n")
    #expect(different.isEmpty, "\(different.count) of \(addresses.count):\n\(examples)")
    // Only nine tenths of llvm-symbolizer's declaration lines are required, because the cache has none for functions
    // that another unit declares.
    #expect(declared * 10 >= truth.joined().count { $0.startLine != 0 } * 9)
    return truth
  }

  /// Returns the addresses to compare: the starts of functions, and random addresses in the code.
  ///
  /// The generator has a fixed seed, so the same binary always yields the same addresses.
  static func addresses(in elf: ELFFile, count: Int) -> [UInt64] {
    var generator = SplitMix64(state: 7)
    let entries = elf.addressOfFunction.values.filter(elf.text.contains).sorted()
    return (0..<count).map { index in
      index % 4 == 0 && !entries.isEmpty
        ? entries.randomElement(using: &generator) ?? 0 : UInt64.random(in: elf.text, using: &generator)
    }
  }

  static func oracle(image: URL, addresses: [UInt64]) throws -> [[OracleFrame]] {
    try Tools.withTemporaryFolder { folder in
      let input = folder.appendingPathComponent("addresses")
      try addresses.map { "0x\(String($0, radix: 16))\n" }.joined().write(to: input, atomically: true, encoding: .utf8)
      let answer = try Tools.run(
        try Tools.symbolizer(), ["--obj=\(image.path)", "--no-demangle", "--output-style=JSON"], input: input)
      try #require(answer.status == 0, "\(answer.error)")
      return try answer.output.split(separator: 10).map { line in
        try JSONDecoder().decode(OracleAnswer.self, from: Data(line)).frames
      }
    }
  }

  static func equal(_ found: [SourceFrame], _ truth: [OracleFrame], _ elf: ELFFile) -> Bool {
    // For an unknown address, llvm-symbolizer prints one unknown frame, and the cache returns no frames.
    let known = truth.filter { !$0.isUnknown }
    guard found.count == known.count else { return false }
    return zip(found.indices, zip(found, known)).allSatisfy { index, pair in
      let (frame, oracle) = pair
      // For an address in the padding after an assembly function, llvm-symbolizer returns a line without a function,
      // and the cache the function before the padding.
      return (oracle.function.isEmpty || sameFunction(frame.mangled, oracle.function, elf))
        && (frame.file ?? "").normalized == oracle.path.normalized && (frame.line ?? 0) == oracle.line
        && (frame.column ?? 0) == oracle.column && frame.declaration?.line ?? oracle.startLine == oracle.startLine
        && frame.isInline == (index < found.count - 1)
    }
  }

  /// Returns whether two names mean the same function.
  ///
  /// The linker can fold identical functions into one function with several names.
  private static func sameFunction(_ a: String, _ b: String, _ elf: ELFFile) -> Bool {
    if a == b { return true }
    guard let address = elf.addressOfFunction[a] else { return false }
    return address == elf.addressOfFunction[b]
  }
}

struct OracleFrame: Decodable {
  var function: String
  var file: String
  var line: Int
  var column: Int
  /// The line of the function's declaration.
  var startLine: Int

  var isUnknown: Bool { function.isEmpty && path.isEmpty }

  /// The path; empty for a file name without a directory.
  ///
  /// A bare file name does not come from debug information: llvm-symbolizer takes it from the FILE symbol before the
  /// function's symbol.
  var path: String { file.contains("/") ? file : "" }

  enum CodingKeys: String, CodingKey {
    case function = "FunctionName"
    case file = "FileName"
    case line = "Line"
    case column = "Column"
    case startLine = "StartLine"
  }
}

private struct OracleAnswer: Decodable {
  var frames: [OracleFrame]

  enum CodingKeys: String, CodingKey {
    case frames = "Symbol"
  }
}

extension String {
  fileprivate var normalized: String { isEmpty ? "" : URL(fileURLWithPath: self).standardized.path }
}

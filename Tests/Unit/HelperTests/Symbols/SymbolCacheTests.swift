import Foundation
import TestKit
import Testing

@testable import CrashSymbols

@Suite struct SymbolCacheTests {
  /// The contents of a cache with three functions.
  ///
  /// `outer` covers 0x1000..<0x1010, with `inner` inlined from 0x1004 to 0x1008. `plain` starts at 0x1020.
  static let small = contents(
    ranges: [0x0, 0, 0x4, 2, 0x8, 0, 0x10, none, 0x20, 3, 0x30, none],
    locations: [
      1, Offset.file, 10, 5, none,
      1, Offset.file, 11, 7, none,
      2, Offset.file, 20, 0, 1,
      3, 0, 0, 0, none,
    ],
    functions: [0, none, Offset.outer, 0, Offset.inner, none, Offset.plain, 0x20])

  private static let none = UInt32.max

  private enum Offset {
    static let outer: UInt32 = 1
    static let inner: UInt32 = 7
    static let plain: UInt32 = 13
    static let file: UInt32 = 19
  }

  /// Creates the contents of a cache from these words.
  ///
  /// No two of the locations may have the same parent.
  ///
  /// A location has five words: function, file, line, column and parent. A function has two words: its name and its
  /// entry. It has no declaration.
  static func contents(ranges: [UInt32], locations: [UInt32], functions: [UInt32]) -> SymbolCacheContents {
    let places = stride(from: 0, to: locations.count, by: 5).map { Array(locations[$0..<$0 + 5]) }
    return SymbolCacheContents(
      base: 0x1000, buildID: [0xab, 0x0c], ranges: ranges,
      locations: places.enumerated().flatMap { [UInt32($0), $1[2] &<< 12 | $1[3] & 0xfff] },
      contexts: places.flatMap { [$0[0], $0[1], $0[4], 0] },
      functions: stride(from: 0, to: functions.count, by: 2).flatMap { [functions[$0], functions[$0 + 1], 0, 0] },
      strings: [UInt8]("\0outer\0inner\0plain\0/src/a.swift\0".utf8))
  }

  /// Encodes a cache file.
  static func bytes(of contents: SymbolCacheContents) throws -> [UInt8] {
    try Tools.withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("cache")
      let handle = try Tools.handle(file)
      try withExtendedLifetime(handle) { try SymbolCacheWriter.write(contents, to: handle.fileDescriptor) }
      return [UInt8](try Data(contentsOf: file))
    }
  }

  /// Writes bytes to a file, and opens the file as a symbol cache.
  static func open(_ bytes: [UInt8], buildID: String = "") throws -> SymbolCache {
    try Tools.withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("cache")
      try Data(bytes).write(to: file)
      return try SymbolCache(path: file.path, buildID: buildID)
    }
  }

  /// Opens the bytes as a cache, which must fail.
  ///
  /// Returns the error without the path.
  static func refusal(of bytes: [UInt8], buildID: String = "") -> String? {
    do {
      _ = try open(bytes, buildID: buildID)
      return nil
    } catch let error as SymbolCacheError {
      switch error {
      case .unreadable(_, let code): return "unreadable \(code)"
      case .notACache: return "not a cache"
      case .otherVersion(_, let version): return "version \(version)"
      case .damaged(_, let problem): return "damaged: \(problem)"
      case .wrongBuildID(_, let expected, let found): return "\(found), not \(expected)"
      }
    } catch {
      return "\(error)"
    }
  }

  @Test("an inline chain is innermost first, and only its outermost function is not inlined")
  func chain() throws {
    let cache = try Self.open(try Self.bytes(of: Self.small), buildID: "ab0c")
    #expect(cache.buildID == "ab0c")
    #expect(
      cache.frames(at: 0x1006) == [
        SourceFrame(mangled: "inner", file: "/src/a.swift", line: 20, isInline: true),
        SourceFrame(mangled: "outer", symbolAddress: 0x1000, file: "/src/a.swift", line: 11, column: 7),
      ])
  }

  @Test("S1: a function has its declaration's line where that line is known")
  func declaration() throws {
    var contents = Self.small
    contents.functions.replaceSubrange(6..<8, with: [Offset.plain, 0])
    contents.functions.replaceSubrange(10..<12, with: [Offset.file, 18])
    let cache = try Self.open(try Self.bytes(of: contents))
    let expected = SourceFrame.Declaration(file: "/src/a.swift", line: 18)
    #expect(cache.frames(at: 0x1006).map(\.declaration) == [expected, nil])
  }

  @Test("S2: an address with line 0 gets the nearest line of its function, marked as such")
  func nearestLine() throws {
    // `outer` has five ranges: without a line, with line 53, with an inlined call that has no line, with an inlined
    // call that has a line, and again without a line. `plain` starts directly after `outer`.
    let cache = try Self.open(
      try Self.bytes(
        of: Self.contents(
          ranges: [0x0, 0, 0x10, 1, 0x14, 3, 0x18, 5, 0x1c, 0, 0x20, 6, 0x30, Self.none],
          locations: [
            1, Offset.file, 0, 0, Self.none,
            1, Offset.file, 53, 80, Self.none,
            1, Offset.file, 60, 1, Self.none,
            2, Offset.file, 0, 0, 2,
            1, Offset.file, 61, 1, Self.none,
            2, Offset.file, 20, 3, 4,
            3, Offset.file, 9, 0, Self.none,
          ],
          functions: [0, Self.none, Offset.outer, 0, Offset.inner, Self.none, Offset.plain, 0x20])))
    let lines = { (address: UInt64) in cache.framesWithNearestLines(at: address).map(\.line) }
    #expect(lines(0x1000) == [53])
    #expect(cache.framesWithNearestLines(at: 0x1000).first?.column == 80)
    #expect(cache.framesWithNearestLines(at: 0x1000).map(\.isLineApproximate) == [true])
    #expect(cache.frames(at: 0x1000).map(\.line) == [nil])
    // The inlined function has its own line, and its caller has the line of the call.
    #expect(lines(0x1014) == [20, 60])
    #expect(cache.framesWithNearestLines(at: 0x1014).map(\.isLineApproximate) == [true, false])
    // 0x101e is in the last range of `outer`. The nearest line belongs to `plain`, so the cache does not return it.
    #expect(lines(0x101e) == [61])
    #expect(lines(0x1010) == [53] && lines(0x1020) == [9])
  }

  @Test("a range covers the addresses from its first byte up to the next range")
  func ranges() throws {
    let cache = try Self.open(try Self.bytes(of: Self.small))
    let outer = [SourceFrame(mangled: "outer", symbolAddress: 0x1000, file: "/src/a.swift", line: 10, column: 5)]
    #expect(cache.frames(at: 0x1000) == outer)
    #expect(cache.frames(at: 0x1003) == outer)
    #expect(cache.frames(at: 0x1004).count == 2)
    #expect(cache.frames(at: 0x1008) == outer)
    #expect(cache.frames(at: 0x102f) == [SourceFrame(mangled: "plain", symbolAddress: 0x1020)])
  }

  @Test("a range can cover whole pages, and a page can contain several ranges")
  func pages() throws {
    let wide = Self.contents(
      ranges: [0x7f, 0, 0x80, 1, 0x81, 2, 0x1000, 3, 0x1001, Self.none],
      locations: (1...4).flatMap { [1, Offset.file, $0, 0, Self.none] }, functions: [0, Self.none, Offset.outer, 0])
    let cache = try Self.open(try Self.bytes(of: wide))
    let lines = [0x7e, 0x7f, 0x80, 0x81, 0xff, 0x100, 0x7ff, 0xfff, 0x1000, 0x1001, 0x107f, 0x1080].map {
      cache.frames(at: 0x1000 + $0).first?.line
    }
    #expect(lines == [nil, 1, 2, 3, 3, 3, 3, 3, 4, nil, nil, nil])
  }

  @Test("a symbol cache stores a large line number in two parts, and returns it unchanged")
  func longFile() throws {
    var contents = Self.contents(
      ranges: [0, 0, 4, Self.none], locations: [1, Offset.file, 77, 3, Self.none],
      functions: [0, Self.none, Offset.outer, 0])
    contents.contexts[3] = 5 << 20
    let frame = try #require(try Self.open(try Self.bytes(of: contents)).frames(at: 0x1000).first)
    #expect(frame.line == 5 << 20 + 77)
    #expect(frame.column == 3)
  }

  @Test(
    "a symbol cache returns no frames for an address outside of all code",
    arguments: [0, 0xfff, 0x1010, 0x101f, 0x1030, .max, 1 << 33])
  func outside(address: UInt64) throws {
    #expect(try Self.open(try Self.bytes(of: Self.small)).frames(at: address).isEmpty)
  }

  @Test("a symbol cache without address ranges returns no frames")
  func empty() throws {
    let cache = try Self.open(try Self.bytes(of: Self.contents(ranges: [], locations: [], functions: [])))
    #expect(cache.frames(at: 0x1000).isEmpty)
  }

  @Test("a symbol cache keeps the flags of its contents")
  func flags() throws {
    var contents = Self.small
    #expect(try Self.open(try Self.bytes(of: contents)).hasDebugInformation)
    #expect(try !Self.open(try Self.bytes(of: contents)).isIncomplete)
    contents.hasDebugInformation = false
    contents.isIncomplete = true
    #expect(try !Self.open(try Self.bytes(of: contents)).hasDebugInformation)
    #expect(try Self.open(try Self.bytes(of: contents)).isIncomplete)
  }

  @Test("a symbol cache of another build is rejected")
  func buildID() throws {
    #expect(Self.refusal(of: try Self.bytes(of: Self.small), buildID: "ab0d") == "ab0c, not ab0d")
  }

  @Test("a symbol cache that is truncated to any length is rejected")
  func truncated() throws {
    let bytes = try Self.bytes(of: Self.small)
    for count in bytes.indices {
      #expect(Self.refusal(of: Array(bytes[..<count])) != nil, "cut off at \(count)")
    }
    #expect(Self.refusal(of: bytes + [0]) == "damaged: its size is wrong")
  }

  @Test("a symbol cache with any changed bit is rejected")
  func bitFlips() throws {
    var bytes = try Self.bytes(of: Self.small)
    try Tools.withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("cache")
      for bit in 0..<bytes.count * 8 {
        bytes[bit / 8] ^= 1 << (bit % 8)
        try Data(bytes).write(to: file)
        #expect(throws: SymbolCacheError.self, "bit \(bit)") { try SymbolCache(path: file.path, buildID: "") }
        bytes[bit / 8] ^= 1 << (bit % 8)
      }
    }
  }

  @Test("a file that is not a cache, a folder, and a missing file are rejected")
  func strangers() throws {
    #expect(Self.refusal(of: Array("just a text file, not a cache".utf8)) == "not a cache")
    #expect(Self.refusal(of: []) == "unreadable \(ENODATA)")
    #expect(throws: SymbolCacheError.unreadable(path: "/", errno: EINVAL)) { try SymbolCache(path: "/", buildID: "") }
    #expect(throws: SymbolCacheError.unreadable(path: "/nowhere/x", errno: ENOENT)) {
      try SymbolCache(path: "/nowhere/x", buildID: "")
    }
  }

  @Test("a symbol cache of another version is rejected")
  func version() throws {
    var bytes = try Self.bytes(of: Self.small)
    bytes[4] = 9
    #expect(Self.refusal(of: bytes) == "version 9")
  }

  @Test(
    "a lookup in hostile tables with a correct checksum returns no frames",
    arguments: [
      ("a location out of range", contents(ranges: [0, 4], locations: [0, 0, 0, 0, none], functions: [0, 0])),
      ("a function out of range", contents(ranges: [0, 0], locations: [1, 0, 0, 0, none], functions: [0, 0])),
      ("a name out of range", contents(ranges: [0, 0], locations: [0, 0, 0, 0, none], functions: [4000, 0])),
      ("a file out of range", contents(ranges: [0, 0], locations: [0, 4000, 0, 0, none], functions: [1, 0])),
      ("its own parent", contents(ranges: [0, 0], locations: [0, 0, 0, 0, 0], functions: [1, 0])),
      (
        "parents in a ring",
        contents(ranges: [0, 1], locations: [0, 0, 0, 0, 1, 0, 0, 0, 0, 0], functions: [1, 0])
      ),
      ("a parent out of range", contents(ranges: [0, 0], locations: [0, 0, 0, 0, 77], functions: [1, 0])),
    ])
  func hostile(name: String, contents: SymbolCacheContents) throws {
    #expect(try Self.open(try Self.bytes(of: contents)).frames(at: 0x1001).isEmpty)
  }

  @Test("lookups in random tables with a correct checksum never trap", arguments: 0..<50)
  func random(seed: Int) throws {
    var generator = SplitMix64(state: UInt64(seed))
    func words(_ count: Int, largest: UInt32 = .max) -> [UInt32] {
      (0..<count).map { _ in Bool.random(using: &generator) ? largest : .random(in: 0...9, using: &generator) }
    }
    // The index of a cache grows with the largest start of a range. Only some caches have the largest possible start,
    // because a debug build needs most of a second to write such an index.
    let starts = words(10, largest: seed % 10 == 0 ? .max : 0xffff)
    let ranges = zip(starts, words(10)).flatMap { [$0, $1] }
    var contents = Self.contents(ranges: ranges, locations: words(40), functions: [])
    contents.functions = words(40)
    contents.strings = words(8).map { UInt8(truncatingIfNeeded: $0) }
    contents.base = [0, .max, 0x1000].randomElement(using: &generator) ?? 0
    let cache = try Self.open(try Self.bytes(of: contents))
    for offset in UInt64(0)..<12 {
      #expect(cache.frames(at: contents.base &+ offset).count <= 10)
    }
  }

  @Test(
    "the checksum of a symbol cache is XXH64",
    arguments: [("", 0xef46_db37_51d8_e999), ("abc", 0x44bc_2cf5_ad77_0999)])
  func checksum(text: String, expected: UInt64) {
    let bytes = Array(text.utf8)
    // Invariant: the checksum is computed in the closure, where the array's buffer is valid.
    #expect(unsafe bytes.withUnsafeBytes { unsafe XXH64.checksum(of: $0) } == expected)
  }
}

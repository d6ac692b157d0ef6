import CrashSymbolBuilder
import CrashSymbols
import Foundation
import TestKit
import Testing

/// The programs and files that the tests use.
enum Tools {
  /// Whether the test runs under a sanitizer.
  ///
  /// Some tests are disabled under a sanitizer, because it needs additional memory and system calls.
  static var isSanitized: Bool {
    // Invariant: dlsym() only searches the loaded libraries, and the name is a valid C string during the call.
    ["__asan_init", "__tsan_init"].contains { (name: String) in unsafe dlsym(nil, name) != nil }
  }

  /// Finds a file that this process has mapped.
  static func mappedFile(named name: String) throws -> URL {
    // Files in /proc report the size 0, so they must be read until their end.
    let maps = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/maps")).readToEnd() ?? Data()
    for line in String(decoding: maps, as: UTF8.self).split(separator: "\n") where line.hasSuffix("/" + name) {
      if let slash = line.firstIndex(of: "/") { return URL(fileURLWithPath: String(line[slash...])) }
    }
    throw CocoaError(.fileNoSuchFile)
  }

  /// The llvm-symbolizer of this Swift toolchain.
  ///
  /// The llvm-symbolizer of the system can be too old for the toolchain's DWARF.
  static func symbolizer() throws -> URL {
    let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
    for folder in path.split(separator: ":") {
      let swift = URL(fileURLWithPath: String(folder)).appendingPathComponent("swift").resolvingSymlinksInPath()
      let symbolizer = swift.deletingLastPathComponent().appendingPathComponent("llvm-symbolizer")
      if FileManager.default.isExecutableFile(atPath: symbolizer.path),
        FileManager.default.isExecutableFile(atPath: swift.path)
      {
        return symbolizer
      }
    }
    throw CocoaError(.fileNoSuchFile)
  }

  /// Runs a program until it exits, with files for its three standard streams.
  static func run(_ program: URL, _ arguments: [String], input: URL) throws -> TestProgram.Answer {
    try TestProgram.run(program, arguments, input: input)
  }

  /// Builds the symbol cache of an image in this process, and opens the cache.
  static func cache(of image: URL, addresses: [UInt64]? = nil) throws -> SymbolCache {
    try withTemporaryFolder { folder in
      let output = folder.appendingPathComponent("cache")
      let handle = try handle(output)
      let input = try FileHandle(forReadingFrom: image)
      try withExtendedLifetime((input, handle)) {
        try SymbolCacheBuilder.build(
          image: input.fileDescriptor, buildID: "", addresses: addresses, output: handle.fileDescriptor)
      }
      return try SymbolCache(path: output.path, buildID: "")
    }
  }

  static func handle(_ file: URL) throws -> FileHandle {
    try Data().write(to: file)
    return try FileHandle(forWritingTo: file)
  }

  static func withTemporaryFolder<Result>(_ body: (URL) throws -> Result) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("symbols-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    return try body(folder)
  }
}

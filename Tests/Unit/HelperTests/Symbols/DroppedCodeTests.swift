import CrashSymbols
import Foundation
import Testing

/// Tests debug information of functions that the linker dropped, which remains, with the address 0.
///
/// Therefore the address range of a large dropped function overlaps real code.
@Suite("Line tables of dropped code") struct DroppedCodeTests {
  /// Returns the source of a function of `count` KiB that has one source line per KiB.
  private static func function(_ name: String, attributes: String = "", count: Int) -> String {
    let line = "  __asm__ volatile(\".skip 0x400, 0x90\");\n"
    return "\(attributes) int \(name)(int a) {\n" + String(repeating: line, count: count) + "  return a;\n}\n"
  }

  private static let kept = function("kept", count: 6)
  private static let hidden = "__attribute__((visibility(\"hidden\")))"
  private static let dropped = function("dropped", attributes: hidden, count: 20)

  @Test(
    "line entries of functions that the linker dropped are not used for functions that it kept",
    arguments: ["bfd", "gold", "lld"], [["kept.c": kept, "dropped.c": dropped], ["both.c": kept + dropped]])
  func lines(linker: String, sources: [String: String]) throws {
    try Tools.withTemporaryFolder { folder in
      for (name, text) in sources {
        try text.write(to: folder.appendingPathComponent(name), atomically: true, encoding: .utf8)
      }
      let image = folder.appendingPathComponent("image.so")
      let options =
        "-g -O1 -ffunction-sections -fPIC -shared -nostdlib -Wl,--gc-sections -fuse-ld=\(linker) -o \(image.path)"
      try OptimizedProgram.compile(
        options.split(separator: " ").map(String.init) + sources.keys.sorted(), in: folder)
      let addresses = try ELFFile(path: image.path).addressOfFunction
      #expect(addresses["dropped"] == nil)
      let start = try #require(addresses["kept"])
      let cache = try Tools.cache(of: image)
      var told = 0
      for offset in stride(from: UInt64(0), to: 6 * 0x400, by: 0x100) {
        let frame = try #require(cache.frames(at: start + offset).first)
        #expect(frame.mangled == "kept" && frame.symbolAddress == start)
        // Line 1 is that of the function itself. Each line after it covers 1 KiB of code.
        if let line = frame.line {
          told += 1
          #expect((1...8).contains(line), "\(linker): line \(line) at \(offset)")
        }
      }
      // If both functions are in one unit, the unit's line entries can belong to either of them, so the cache may omit
      // lines. In separate units, every address must have a line.
      if sources.count == 2 { #expect(told == 24) }
    }
  }
}

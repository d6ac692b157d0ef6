import Foundation
import Testing

/// Tests that the compiler refuses the operations for which there is no guard.
@Suite
struct CompileTests {
  /// Lines that the compiler must refuse, each with a part of its error.
  ///
  /// Each line is compiled after the declarations in `common`, which the compiler must accept.
  private static let refused: [(line: String, error: String)] = [
    // T29: a transition queue is isolated to the main actor.
    ("nonisolated func fromElsewhere(_ queue: TransitionQueue<Window>) { queue.push(Page()) }", "main actor"),
    ("func fromTask(_ queue: TransitionQueue<Window>) { Task.detached { queue.pop() } }", "main actor"),
    // There is no guard for these collections, because even a comparison of their indices can trap.
    ("func ofDictionary(_ items: [String: Int]) { _ = items[shielded: items.startIndex] }", "subscript"),
    ("func ofSet(_ items: Set<String>) { _ = items[shielded: items.startIndex] }", "subscript"),
    // iOS crash-protection libraries skip nil at run time. In Swift, the compiler refuses nil.
    ("func intoCache(_ cache: NSCache<NSString, NSString>) { cache.setObject(nil, forKey: \"key\") }", "nil"),
    ("func intoSet(_ items: NSMutableSet) { items.add(nil) }", "nil"),
    ("func asPrefix(_ text: String) { _ = text.hasPrefix(nil) }", "nil"),
    ("func asKey(_ defaults: UserDefaults) { _ = defaults.object(forKey: nil) }", "nil"),
    // The type has no method or property with this name.
    ("func message(_ page: Page) { page.doesNotExist(1, 100) }", "no member"),
    ("func path(_ registry: ObserverRegistry<Page>) { registry.notify(\\.nothing, 1) }", "no member"),
  ]

  private static let common = """
    import CrashShieldGuards
    import Foundation
    final class Page: Sendable { let title = "" }
    final class Window: TransitionDriver {
      func begin(_ transition: Transition<Page>, finished: @escaping @MainActor (TransitionEnd) -> Void) {}
    }
    @MainActor func fromMain(_ queue: TransitionQueue<Window>) { queue.push(Page()) }
    func ofArray(_ items: [Int]) { _ = items[shielded: items.startIndex] }
    """

  @Test("each unsupported use of a guard fails to compile with its stated error, and supported uses compile")
  func refused() throws {
    let first = Self.common.split(separator: "\n").count + 1
    let found = try errors(of: ([Self.common] + Self.refused.map(\.line)).joined(separator: "\n"))
    for (number, (line, error)) in Self.refused.enumerated() {
      #expect(found.contains { $0.contains("swift:\(first + number):") && $0.contains(error) }, "\(line): \(found)")
    }
    #expect(found.count == Self.refused.count, "\(found)")
  }

  /// Returns the compiler's errors for a source text, one error per line.
  private func errors(of source: String) throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "compile-\(UUID().uuidString.prefix(8))")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { #expect(throws: Never.self) { try FileManager.default.removeItem(at: folder) } }
    let file = folder.appending(path: "source.swift")
    try Data(source.utf8).write(to: file)
    let output = folder.appending(path: "output")
    try Data().write(to: output)

    let build = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    let root = URL(filePath: #filePath).appending(path: "../../../..").standardizedFileURL
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      [
        "swiftc", "-typecheck", "-swift-version", "6", "-diagnostic-style", "llvm", "-module-cache-path",
        folder.appending(path: "cache").path, "-I", build.appending(path: "Modules").path,
        "-Xcc", "-I\(root.appending(path: "CShim/Ring/include").path)",
      ]
      + ["CShim", "CShimQuarantine", "CShimRing"].flatMap {
        ["-Xcc", "-fmodule-map-file=\(build.appending(path: "\($0).build/module.modulemap").path)"]
      } + [file.path]
    process.standardOutput = FileHandle.nullDevice
    process.standardError = try FileHandle(forWritingTo: output)
    try process.run()
    process.waitUntilExit()
    let lines = try String(contentsOf: output, encoding: .utf8).split(separator: "\n")
    let errors = lines.filter { $0.contains("error:") }.map(String.init)
    // Fails if a signal ended the compiler, or if it failed without an error message.
    try #require(process.terminationReason == .exit && (process.terminationStatus == 0) == errors.isEmpty)
    return errors
  }
}

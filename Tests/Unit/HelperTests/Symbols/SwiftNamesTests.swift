import CrashSymbols
import Foundation
import TestKit
import Testing

/// Compares short names, and the detection of thunks, with the toolchain's `swift-demangle` for all Swift symbols of
/// several images.
@Suite struct SwiftNamesTests {
  /// What the toolchain's demangler prints about one symbol.
  private struct Truth {
    var mangled: String
    var simplified: String
    /// The kinds of the nodes below the root of the demangled tree, such as `FunctionSignatureSpecialization` and
    /// `Function`.
    var kinds: [Substring]
  }

  @Test(
    "D7, D8: short names and thunks equal swift-demangle's on over 40,000 symbols", .disabled(if: Tools.isSanitized)
  )
  func toolchain() throws {
    try Tools.withTemporaryFolder { folder in
      var images = [
        try Tools.mappedFile(named: "libswiftCore.so"), try Tools.mappedFile(named: "libFoundationEssentials.so"),
        TestProgram.url("crash-maker"),
      ]
      // An optimized program with tasks and closures has specialized thunks and merged functions.
      images.append(try OptimizedProgram.build(in: folder, dwarfVersion: 5))
      let truths = try Self.truths(of: images, in: folder)
      #expect(truths.count >= 40_000)
      let names = truths.filter { Demangler.simplified($0.mangled) != Self.expected($0) }
      #expect(names.isEmpty, "\(names.count) of \(truths.count), such as \(Self.show(names))")
      let thunks = truths.filter { Demangler.isThunk($0.mangled) != Self.isThunk($0) }
      #expect(thunks.isEmpty, "\(thunks.count) of \(truths.count), such as \(Self.show(thunks))")
      let merged = truths.filter { Demangler.isMerged($0.mangled) != $0.kinds.contains("MergedFunction") }
      #expect(merged.isEmpty, "\(merged.count) of \(truths.count), such as \(Self.show(merged))")
      // The comparison proves something only if the images have specialized thunks and merged thunks.
      let hard = truths.filter { Self.isThunk($0) && $0.kinds.contains { $0.hasSuffix("Specialization") } }
      let mergedThunks = truths.filter { Self.isThunk($0) && $0.kinds.contains("MergedFunction") }
      #expect(hard.count >= 3 && mergedThunks.count >= 50, "\(hard.count), \(mergedThunks.count)")
    }
  }

  /// Returns the expected short name: that of the toolchain, with the deliberate differences of this project.
  private static func expected(_ truth: Truth) -> String {
    var name = truth.simplified
    // swift-demangle leaves a name such as `$sS` unchanged, because it has nothing to print.
    if name == truth.mangled { return name }
    // For a closure of top-level code, swift-demangle prints an empty text after "in".
    if name.hasSuffix(" in ") { name.removeLast(4) }
    // `@Sendable` before the labels belongs to the function's type, which short names do not show.
    name = name.replacing(/([^ (])@Sendable \(/) { "\($0.output.1)(" }
    // A merged function has the name of only one of its functions, so the short name marks it as merged.
    return truth.kinds.contains("MergedFunction") ? "merged " + name : name
  }

  /// Whether the symbol is a thunk, according to the kinds of its nodes.
  private static func isThunk(_ truth: Truth) -> Bool {
    let data: Set<Substring> = ["AsyncFunctionPointer", "CoroFunctionPointer", "OutlinedVariable"]
    if truth.kinds.contains(where: data.contains) { return false }
    let around: Set<Substring> = [
      "MergedFunction", "AsyncAwaitResumePartialFunction", "AsyncSuspendResumePartialFunction",
    ]
    let kind = truth.kinds.first { !around.contains($0) && !$0.contains("Specialization") } ?? ""
    let others: Set<Substring> = [
      "ProtocolWitness", "ProtocolSelfConformanceWitness", "ObjCAttribute", "NonObjCAttribute",
    ]
    return kind.contains("Thunk") || kind.contains("Forwarder") || others.contains(kind)
  }

  private static func show(_ truths: [Truth]) -> String {
    truths.prefix(20).map { truth in
      "\n\(truth.mangled) \(truth.kinds.joined(separator: " ")): '\(Demangler.simplified(truth.mangled))', swift-demangle: "
        + "'\(truth.simplified)', thunk \(Demangler.isThunk(truth.mangled))"
    }.joined()
  }

  /// All Swift symbols of the images, each with the output of the toolchain's demangler.
  private static func truths(of images: [URL], in folder: URL) throws -> [Truth] {
    let tool = try Tools.symbolizer().deletingLastPathComponent().appendingPathComponent("swift-demangle")
    try #require(FileManager.default.isExecutableFile(atPath: tool.path), "no \(tool.path)")
    func shell(_ command: String, _ arguments: [String], input: URL) throws -> Data {
      let answer = try Tools.run(URL(fileURLWithPath: "/bin/sh"), ["-c", command, "sh"] + arguments, input: input)
      try #require(answer.status == 0, "\(command): \(answer.error)")
      return answer.output
    }
    let nothing = URL(fileURLWithPath: "/dev/null")
    let list = folder.appendingPathComponent("names")
    try shell(
      "for image; do nm \"$image\"; nm -D \"$image\"; done 2>/dev/null | sed -n 's/.* \\($s[A-Za-z0-9_]*\\)$/\\1/p' | sort -u",
      images.map(\.path), input: nothing
    ).write(to: list)
    let names = String(decoding: try Data(contentsOf: list), as: UTF8.self).split(separator: "\n")
    let simplified = String(
      decoding: try shell("\"$1\" --compact --simplified", [tool.path], input: list), as: UTF8.self
    )
    .split(separator: "\n", omittingEmptySubsequences: false)
    try #require(simplified.count == names.count + 1)
    let nodes = try shell(
      "\"$1\" --tree-only | sed -n 's/^Demangling for .*/-/p; s/^  kind=\\([A-Za-z]*\\).*/\\1/p'", [tool.path],
      input: list)
    let kinds = String(decoding: nodes, as: UTF8.self).split(separator: "-\n", omittingEmptySubsequences: false)
      .dropFirst()
    try #require(kinds.count == names.count)
    return zip(zip(names, simplified), kinds).map { pair, kinds in
      Truth(mangled: String(pair.0), simplified: String(pair.1), kinds: kinds.split(separator: "\n"))
    }
  }
}

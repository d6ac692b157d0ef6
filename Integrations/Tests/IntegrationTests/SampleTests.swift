import Foundation
import Testing

/// Tests that each sample of docs/frameworks.md is a part of a program that the compiler checks.
struct SampleTests {
  private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL

  @Test("the lines of each sample in docs/frameworks.md are consecutive lines of its program, except for comments")
  func samples() throws {
    let page = try String(contentsOf: Self.root.appendingPathComponent("docs/frameworks.md"), encoding: .utf8)
    let samples = page.components(separatedBy: "<!-- sample: ").dropFirst()
    #expect(samples.count == 7)
    for sample in samples {
      let file = try #require(sample.components(separatedBy: " -->").first)
      let code = try #require(sample.components(separatedBy: "```").dropFirst().first)
      let example = try String(contentsOf: Self.root.appendingPathComponent(file), encoding: .utf8)
      // Drops the first line of the code block, which is the name of the language.
      let (part, whole) = (Self.lines(of: code).dropFirst(), Self.lines(of: example))
      let isPart = whole.indices.contains { whole[$0...].starts(with: part) }
      #expect(!part.isEmpty && isPart, "the sample in \(file) that begins with '\(part.first ?? "")'")
    }
  }

  /// The lines of a string, without indentation, comments and empty lines.
  private static func lines(of text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }
      .filter { !$0.isEmpty && !$0.hasPrefix("//") }
  }
}

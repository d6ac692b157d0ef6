import Foundation
import Testing

/// The samples of docs/frameworks.md are parts of the examples, which the compiler checks.
struct SampleTests {
  private static let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../..").standardizedFileURL

  @Test("each line of a sample is a line of its example, in the same order")
  func samples() throws {
    let page = try String(contentsOf: Self.root.appendingPathComponent("docs/frameworks.md"), encoding: .utf8)
    let samples = page.components(separatedBy: "<!-- sample: ").dropFirst()
    #expect(samples.count == 5)
    for sample in samples {
      let file = try #require(sample.components(separatedBy: " -->").first)
      let code = try #require(sample.components(separatedBy: "```").dropFirst().first)
      let example = try String(contentsOf: Self.root.appendingPathComponent(file), encoding: .utf8)
      var rest = Self.lines(of: example)[...]
      for line in Self.lines(of: code).dropFirst() {
        let index = try #require(rest.firstIndex(of: line), "'\(line)' in \(file)")
        rest = rest[(index + 1)...]
      }
    }
  }

  /// The lines without their indentation, and without empty lines.
  private static func lines(of text: String) -> [String] {
    text.split(separator: "\n").map { $0.trimmingCharacters(in: .whitespaces) }.filter { !$0.isEmpty }
  }
}

/// The depth of JSON from outside, before a decoder sees it whose cost grows with the depth.
package enum JSONDepth {
  /// Deeper than anything that crashd, a collector or a server of ours answers.
  package static let answers = 64

  /// Checks how many arrays and objects stand in each other; says nothing about the rest of the text.
  ///
  /// Complexity: O(bytes).
  /// - Parameters:
  ///   - bytes: The text.
  ///   - limit: How many may.
  /// - Throws: `JSONProblem.tooDeep`.
  package static func check(_ bytes: some Sequence<UInt8>, limit: Int = answers) throws(JSONProblem) {
    var (depth, isText, isEscaped) = (0, false, false)
    for byte in bytes {
      if isText {
        if isEscaped {
          isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
          isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
          isText = false
        }
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isText = true
      case UInt8(ascii: "["), UInt8(ascii: "{"):
        depth += 1
        if depth > limit { throw .tooDeep(limit: limit) }
      case UInt8(ascii: "]"), UInt8(ascii: "}"): depth -= 1
      default: break
      }
    }
  }
}

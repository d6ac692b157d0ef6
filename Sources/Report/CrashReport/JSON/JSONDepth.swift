/// Checks the nesting depth of untrusted JSON, for decoders whose cost grows with the depth.
package enum JSONDepth {
  /// The default limit of the nesting depth.
  ///
  /// This limit exceeds the depth of every reply from crashd, a collector or a server.
  package static let answers = 64

  /// Checks how deep arrays and objects are nested.
  ///
  /// The check ignores the other rules of the JSON syntax.
  ///
  /// Complexity: O(bytes).
  /// - Parameters:
  ///   - bytes: The JSON as UTF-8.
  ///   - limit: The maximum depth.
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

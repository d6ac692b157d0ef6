/// Scrubs command lines: replaces the values of options, variables and headers whose names mark secrets, and the user
/// information in URLs.
///
/// The scrubber splits a command line into words, but does not know the options of specific programs. Therefore, the
/// scrubber does not detect a secret in `-pVALUE`, or a secret whose name is not in the list.
extension TextScrubber {
  /// Scrubs arguments, and joins them with blanks.
  ///
  /// An argument that contains a blank or a quote is quoted.
  public func scrub(arguments: [String]) -> String {
    var isValue = false
    let words = arguments.map { Self.quoted(scrub(argument: $0, &isValue)) }
    return scrub(words.joined(separator: " "))
  }

  /// Scrubs a command line that `scrub(arguments:)` of another scrubber has created.
  public func scrub(commandLine line: String) -> String { scrub(arguments: Self.arguments(of: line)) }

  /// Scrubs one argument.
  ///
  /// The argument can itself be a command line, such as the argument of `sh -c`.
  /// - Parameters:
  ///   - argument: The argument to scrub.
  ///   - isValue: On input, the flag states whether the previous word is an option whose value is secret. On output,
  ///     the flag states whether the last word of this argument is such an option.
  /// - Returns: The scrubbed argument.
  private func scrub(argument: String, _ isValue: inout Bool) -> String {
    if isValue, !argument.hasPrefix("--") {
      isValue = false
      return Self.mark
    }
    var result = ""
    var rest = argument.utf8[...]
    isValue = false
    while !rest.isEmpty {
      let blanks = rest.prefix(while: Self.isBlank)
      rest = rest[blanks.endIndex...]
      result += String(Substring(blanks))
      if rest.isEmpty { break }
      let bytes = Self.word(rest)
      rest = rest[bytes.endIndex...]
      let word = String(Substring(bytes))
      if isValue, !word.hasPrefix("--") {
        isValue = false
        result += Self.mark
        continue
      }
      let (text, follows) = scrub(part: Self.withoutUserInfo(word))
      result += text
      // The value of a header can consist of several words, so the rest of the argument is scrubbed.
      if follows == .values, !rest.isEmpty { return result + " " + Self.mark }
      isValue = follows != .text
    }
    return result
  }

  /// Which of the following words are secret.
  private enum Follower {
    case text
    /// The next word is secret.
    case value
    /// All words up to the end of the argument are secret.
    case values
  }

  private func scrub(part word: String) -> (String, Follower) {
    let bytes = word.utf8
    var start = bytes.startIndex
    for index in bytes.indices where bytes[index] == UInt8(ascii: "=") || bytes[index] == UInt8(ascii: ":") {
      let end = bytes.index(after: index)
      if bytes[index] == UInt8(ascii: ":"), bytes[end...].starts(with: "//".utf8) { continue }
      if isSecret(String(word[start..<index])) {
        if end == bytes.endIndex, bytes[index] == UInt8(ascii: ":") { return (word, .values) }
        return (String(word[..<end]) + Self.mark, .text)
      }
      start = end
    }
    let isOption = start == bytes.startIndex && word.hasPrefix("-") && isSecret(word)
    return (word, isOption ? .value : .text)
  }

  /// Replaces the user information in URLs: `postgres://user:word@host` becomes `postgres://[scrubbed]@host`.
  private static func withoutUserInfo(_ word: String) -> String {
    var result: [UInt8] = []
    var rest = Array(word.utf8)[...]
    while let byte = rest.first {
      guard byte == UInt8(ascii: ":"), rest.starts(with: "://".utf8) else {
        result.append(byte)
        rest = rest.dropFirst()
        continue
      }
      result += "://".utf8
      rest = rest.dropFirst(3)
      let authority = rest.prefix { !"/?#".utf8.contains($0) }
      guard let at = authority.lastIndex(of: UInt8(ascii: "@")) else { continue }
      result += mark.utf8
      rest = rest[at...]
    }
    return String(decoding: result, as: UTF8.self)
  }

  private static func isBlank(_ byte: UInt8) -> Bool { " \t\n".utf8.contains(byte) }

  /// Returns the bytes before the next blank that is not in quotes.
  ///
  /// A quote without a closing quote is an ordinary character.
  private static func word(_ bytes: Substring.UTF8View) -> Substring.UTF8View {
    var index = bytes.startIndex
    while index < bytes.endIndex, !isBlank(bytes[index]) {
      let byte = bytes[index]
      index = bytes.index(after: index)
      guard byte == UInt8(ascii: "'") || byte == UInt8(ascii: "\"") else { continue }
      if let close = bytes[index...].firstIndex(of: byte) { index = bytes.index(after: close) }
    }
    return bytes[..<index]
  }

  private static func quoted(_ argument: String) -> String {
    let isPlain = !argument.isEmpty && !argument.unicodeScalars.contains { " \t\n\"'\\".unicodeScalars.contains($0) }
    return isPlain ? argument : "'" + argument.replacing("'", with: #"'\''"#) + "'"
  }

  /// Splits a line that `quoted` has created into arguments.
  ///
  /// The last argument can be truncated.
  private static func arguments(of line: String) -> [String] {
    var arguments: [[UInt8]] = []
    var (isIn, isQuoted, isEscaped) = (false, false, false)
    for byte in line.utf8 {
      if !isQuoted, !isEscaped, isBlank(byte) {
        isIn = false
        continue
      }
      if !isIn { arguments.append([]) }
      isIn = true
      if isEscaped {
        isEscaped = false
      } else if byte == UInt8(ascii: "'") {
        isQuoted.toggle()
        continue
      } else if !isQuoted, byte == UInt8(ascii: "\\") {
        isEscaped = true
        continue
      }
      arguments[arguments.count - 1].append(byte)
    }
    return arguments.map { String(decoding: $0, as: UTF8.self) }
  }
}

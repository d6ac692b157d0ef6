import CrashProtocol
import CrashReport
import CrashSettings

/// A JSON body whose strings contain placeholders such as `${program}`, which are replaced by the fields of a summary.
///
/// Placeholders are replaced after the JSON was parsed, so that a value in a report cannot change the structure of the
/// body.
public struct WebhookTemplate: Sendable, Equatable {
  let body: JSONValue

  /// The body that Slack, Mattermost and Rocket.Chat accept.
  static let slack = WebhookTemplate(
    checked: .object([
      "text": .string("*${headline}*\n${host} ${unit} · group ${group} · ${place}\n```\n${stack}\n```")
    ]))

  private init(checked body: JSONValue) { self.body = body }

  /// Parses a template.
  /// - Throws: `SettingProblem` if the text is not a JSON object, or uses an unknown placeholder.
  init(_ text: String) throws(SettingProblem) {
    guard let body = JSONValue.decoded(Array(text.utf8)), case .object = body else {
      throw SettingProblem("the file of webhook.template-file must contain a JSON object")
    }
    self.body = body
    for word in Self.words(in: body) where !WebhookSummary.names.contains(word) {
      throw SettingProblem(
        "unknown placeholder '${\(word.prefix(32))}'" + Spelling.meant(word, among: WebhookSummary.names))
    }
  }

  /// Returns the body for one crash.
  ///
  /// `escape` makes a value safe for the receiver's markup.
  func filled(_ summary: WebhookSummary, escape: (String) -> String = { $0 }) -> JSONValue {
    let values = Dictionary(
      summary.fields.map { name, value in
        switch value {
        case .string(let text)?: (name, escape(text))
        case .int(let number)?: (name, "\(number)")
        default: (name, "")
        }
      }, uniquingKeysWith: { first, _ in first })
    return Self.filled(body, values)
  }

  /// Escapes the markup of Slack (`<`, `>`, `&`), and of Mattermost and Rocket.Chat (`@`, `](`).
  ///
  /// Without escaping, a program's name could notify a whole channel, or show a link under another text. A zero-width
  /// space inside `@name` and `](` prevents their interpretation as markup. The function replaces Unicode scalars, not
  /// `Character` values, because a `<` with a combining mark is one `Character` that differs from `<`.
  static func slackText(_ text: String) -> String {
    var result = ""
    var previous: Unicode.Scalar?
    for scalar in text.unicodeScalars {
      switch scalar {
      case "&": result += "&amp;"
      case "<": result += "&lt;"
      case ">": result += "&gt;"
      // Replace a backtick, because it could end the code block of the backtrace.
      case "`": result += "'"
      case "@": result += "@\u{200B}"
      case "(" where previous == "]": result += "\u{200B}("
      default: result.unicodeScalars.append(scalar)
      }
      previous = scalar
    }
    return result
  }

  private static func filled(_ value: JSONValue, _ values: [String: String]) -> JSONValue {
    switch value {
    case .string(let text): .string(filled(text, values))
    case .array(let items): .array(items.map { filled($0, values) })
    case .object(let members): .object(members.mapValues { filled($0, values) })
    default: value
    }
  }

  /// Replaces the placeholders in a string.
  ///
  /// Placeholders inside the inserted values are not replaced.
  private static func filled(_ text: String, _ values: [String: String]) -> String {
    parts(of: text).reduce(into: "") { result, part in
      result += part.text
      if let word = part.word { result += values[word] ?? "" }
    }
  }

  private static func words(in value: JSONValue) -> [String] {
    switch value {
    case .string(let text): parts(of: text).compactMap(\.word)
    case .array(let items): items.flatMap(words)
    case .object(let members): members.values.flatMap(words)
    default: []
    }
  }

  /// Splits a string into parts, each followed by a placeholder.
  ///
  /// The last part is not followed by a placeholder.
  private static func parts(of text: String) -> [(text: Substring, word: String?)] {
    var (parts, rest) = ([(text: Substring, word: String?)](), text[...])
    while let found = rest.firstRange(of: "${"), let end = rest[found.upperBound...].firstIndex(of: "}") {
      parts.append((rest[..<found.lowerBound], String(rest[found.upperBound..<end])))
      rest = rest[rest.index(after: end)...]
    }
    return parts + [(rest, nil)]
  }
}

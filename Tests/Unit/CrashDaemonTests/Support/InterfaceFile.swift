/// A Varlink interface file.
///
/// It has only the parts that a test compares with code.
struct InterfaceFile: Sendable {
  /// A type as the interface file declares it.
  indirect enum Kind: Sendable, Equatable {
    /// A basic type, or a type that the file declares.
    case name(String)
    case optional(Kind)
    case list(Kind)
    case map(Kind)
  }

  struct Field: Sendable, Equatable {
    var name: String
    var kind: Kind
  }

  private(set) var types: [String: [Field]] = [:]
  private(set) var methods: [String: (parameters: [Field], reply: [Field])] = [:]
  private(set) var errors: [String: [Field]] = [:]
  private var words: [String]

  /// Parses the text of a well-formed file, such as crashd's interface file.
  init(_ text: String) {
    words = Self.words(text)[...].reversed()
    while let word = words.popLast() {
      switch word {
      case "interface": _ = words.popLast()
      case "type": types[words.popLast() ?? ""] = fields()
      case "error": errors[words.popLast() ?? ""] = fields()
      case "method":
        let name = words.popLast() ?? ""
        let parameters = fields()
        // Skips the token `->`.
        _ = words.popLast()
        methods[name] = (parameters, fields())
      default: preconditionFailure("'\(word)' in an interface file")
      }
    }
  }

  /// Splits the text into tokens.
  ///
  /// A token is a name, which can contain dots, or a single punctuation character.
  ///
  /// The function skips comments.
  private static func words(_ text: String) -> [String] {
    var words: [String] = []
    for line in text.split(separator: "\n") {
      var isInWord = false
      for character in line.prefix(while: { $0 != "#" }) {
        let isPart = character.isLetter || character.isNumber || character == "_" || character == "."
        let isArrow = character == ">" && words.last == "-"
        if isPart && isInWord || isArrow { words[words.count - 1].append(character) }
        if !isPart && !isArrow && character != " " || isPart && !isInWord { words.append(String(character)) }
        isInWord = isPart
      }
    }
    return words
  }

  private mutating func fields() -> [Field] {
    var fields: [Field] = []
    guard words.popLast() == "(" else { preconditionFailure("fields without a parenthesis") }
    while let name = words.popLast(), name != ")" {
      if name == "," { continue }
      // Skips the token `:`.
      _ = words.popLast()
      fields.append(Field(name: name, kind: kind()))
    }
    return fields
  }

  private mutating func kind() -> Kind {
    switch words.popLast() {
    case "?": return .optional(kind())
    case "[":
      let isMap = words.popLast() == "string"
      if isMap { _ = words.popLast() }
      return isMap ? .map(kind()) : .list(kind())
    case let name: return .name(name ?? "")
    }
  }
}

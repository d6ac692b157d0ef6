/// The tags of a page, as a browser parses them.
///
/// The parser is strict: it accepts only the markup that the templates contain, and reports everything else.
struct Markup {
  /// The names of the elements, with the names of their attributes, in order.
  private(set) var tags: [String] = []
  /// The texts of the headings and links, in the order of their ends.
  private(set) var names: [(element: String, text: String)] = []
  /// The text between the tags.
  private(set) var text = ""
  /// The markup that the parser does not accept.
  private(set) var complaints: [String] = []

  private static let voids: Set = ["meta", "link", "input", "br"]
  private static let named: Set = ["h1", "h2", "h3", "a"]

  /// Parses a page scalar by scalar, because browsers do not combine scalars to characters.
  init(_ html: String) {
    var rest = Array(html.unicodeScalars)[...]
    // The open elements, and where their texts begin.
    var open: [(name: String, start: String.Index)] = []
    while let start = rest.firstIndex(of: "<") {
      text += Self.text(rest[..<start])
      rest = rest[rest.index(after: start)...]
      guard let end = Self.end(of: rest) else {
        complaints.append("a tag without an end")
        break
      }
      let tag = rest[..<end]
      rest = rest[rest.index(after: end)...]
      if tag.first == "!" { continue }
      if tag.first == "/" {
        let name = Self.text(tag.dropFirst())
        guard let (last, start) = open.popLast(), last == name else {
          complaints.append("</\(name)> ends another element")
          continue
        }
        if Self.named.contains(name) { names.append((name, String(text[start...]))) }
        continue
      }
      let (name, attributes) = Self.parts(tag)
      tags.append(([name] + attributes.map(\.name)).joined(separator: " "))
      complain(name, attributes)
      if !Self.voids.contains(name) { open.append((name, text.endIndex)) }
    }
    if !open.isEmpty { complaints.append("elements without an end: \(open.map(\.name))") }
  }

  private mutating func complain(_ name: String, _ attributes: [(name: String, value: String)]) {
    for (attribute, value) in attributes {
      if attribute.hasPrefix("on") || attribute == "style" || !attribute.unicodeScalars.allSatisfy(Self.isName) {
        complaints.append("<\(name) \(attribute)>")
      }
      if ["href", "src", "action"].contains(attribute), !value.hasPrefix("/"), !value.hasPrefix("#") {
        complaints.append("<\(name) \(attribute)=\(value)> leads elsewhere")
      }
    }
    if name == "script", !attributes.contains(where: { $0.name == "src" }) { complaints.append("an inline script") }
    if name == "style" { complaints.append("an inline style") }
  }

  private static func isName(_ scalar: Unicode.Scalar) -> Bool {
    ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) || ("0"..."9").contains(scalar) || scalar == "-"
  }

  /// The end of a tag: the first `>` outside quotation marks.
  private static func end(of text: ArraySlice<Unicode.Scalar>) -> Int? {
    var isQuoted = false
    for index in text.indices {
      if text[index] == "\"" { isQuoted.toggle() } else if text[index] == ">", !isQuoted { return index }
    }
    return nil
  }

  private static func parts(_ tag: ArraySlice<Unicode.Scalar>) -> (String, [(name: String, value: String)]) {
    var rest = tag
    let name = text(rest.prefix { $0 != " " && $0 != "\n" })
    rest = rest.dropFirst(name.unicodeScalars.count)
    var attributes: [(name: String, value: String)] = []
    while true {
      rest = rest.drop { $0 == " " || $0 == "\n" }
      if rest.isEmpty { return (name, attributes) }
      let key = rest.prefix { $0 != "=" && $0 != " " && $0 != "\n" }
      rest = rest.dropFirst(key.count)
      var value = ArraySlice<Unicode.Scalar>()
      if rest.first == "=" {
        rest = rest.dropFirst()
        if rest.first == "\"" {
          rest = rest.dropFirst()
          value = rest.prefix { $0 != "\"" }
          rest = rest.dropFirst(value.count + 1)
        } else {
          value = rest.prefix { $0 != " " && $0 != "\n" }
          rest = rest.dropFirst(value.count)
        }
      }
      attributes.append((text(key), text(value)))
    }
  }

  private static func text(_ scalars: some Sequence<Unicode.Scalar>) -> String {
    var view = String.UnicodeScalarView()
    view.append(contentsOf: scalars)
    return String(view)
  }
}

/// Formats metrics as OpenMetrics text, restricted to what Prometheus' older format accepts too.
struct OpenMetrics {
  enum Kind: String {
    case counter
    case gauge
  }

  private(set) var text = ""

  /// One metric: its samples by the values of one label; nil: without a label.
  mutating func add(_ name: String, _ kind: Kind, _ help: String, by label: String? = nil, _ samples: [String: Int]) {
    add(
      name, kind, help, by: label.map { [$0] } ?? [],
      samples.sorted { $0.key < $1.key }.map { (values: [$0.key], number: $0.value) })
  }

  /// The same by several labels: the values of each sample are in their order.
  mutating func add(
    _ name: String, _ kind: Kind, _ help: String, by labels: [String], _ samples: [(values: [String], number: Int)]
  ) {
    guard !samples.isEmpty else { return }
    text += "# HELP \(name) \(Self.escape(help))\n# TYPE \(name) \(kind.rawValue)\n"
    let suffix = kind == .counter ? "_total" : ""
    for sample in samples {
      let pairs = zip(labels, sample.values).map { "\($0)=\"\(Self.escape($1))\"" }
      text += "\(name)\(suffix)\(pairs.isEmpty ? "" : "{\(pairs.joined(separator: ","))}") \(sample.number)\n"
    }
  }

  mutating func add(_ name: String, _ kind: Kind, _ help: String, _ number: Int) {
    add(name, kind, help, ["": number])
  }

  /// Everything, with the end that OpenMetrics requires.
  var ended: String { text + "# EOF\n" }

  /// Escapes scalars: a quote with a combining mark is one `Character`, which is no quote.
  private static func escape(_ text: String) -> String {
    var result = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\\": result += "\\\\"
      case "\"": result += "\\\""
      case "\n": result += "\\n"
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result
  }
}

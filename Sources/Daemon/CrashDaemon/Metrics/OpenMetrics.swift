/// Formats metrics in the OpenMetrics format, but uses only features that Prometheus' older text format also has.
struct OpenMetrics {
  enum Kind: String {
    case counter
    case gauge
  }

  private(set) var text = ""

  /// Adds one metric.
  ///
  /// The keys of `samples` are the values of the label `label`. If `label` is nil, `samples` must have one element,
  /// whose sample gets no label.
  mutating func add(_ name: String, _ kind: Kind, _ help: String, by label: String? = nil, _ samples: [String: Int]) {
    add(
      name, kind, help, by: label.map { [$0] } ?? [],
      samples.sorted { $0.key < $1.key }.map { (values: [$0.key], number: $0.value) })
  }

  /// Adds one metric with several labels.
  ///
  /// The label values of each sample have the same order as the label names.
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

  /// The whole text of the metrics, with the end marker that OpenMetrics requires.
  var ended: String { text + "# EOF\n" }

  /// Escapes special characters in a label's value.
  ///
  /// The code compares Unicode scalars and not `Character` values. A comparison of `Character` values would not find a
  /// quotation mark that is followed by a combining mark.
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

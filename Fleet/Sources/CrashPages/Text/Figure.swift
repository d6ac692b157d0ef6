/// A number and its readable form.
///
/// JSON encodes the number; a template shows the readable form.
struct Figure: Encodable, Sendable, Equatable, CustomStringConvertible {
  var value: Double
  var description: String
  /// Whether the readable form is `1`, so that its noun is in the singular.
  let isOne: Bool

  /// A count, such as `12,345`.
  init(_ count: Int) { self.init(Double(count), Self.grouped(count)) }

  /// A number and the given text.
  init(_ value: Double, _ text: String) { (self.value, description, isOne) = (value, text, text == "1") }

  /// Returns the number with its noun, such as `1 class` or `2 classes`.
  func counted(_ noun: String, _ plural: String) -> String { "\(description) \(isOne ? noun : plural)" }

  /// A size in bytes, such as `1.4 MiB`.
  static func bytes(_ value: Double) -> Figure { Figure(value, size(value)) }

  /// A duration in nanoseconds, such as `12 ms`.
  static func delay(ns: Int) -> Figure { Figure(Double(ns), duration(Double(ns))) }

  /// A number with at most one decimal.
  static func rounded(_ value: Double) -> Figure {
    guard value.isFinite, abs(value) < 1e15 else { return Figure(value, "–") }
    let tenths = Int((value * 10).rounded())
    return Figure(value, tenths % 10 == 0 ? grouped(tenths / 10) : "\(grouped(tenths / 10)).\(abs(tenths % 10))")
  }

  /// A fraction from 0 to 1 as a percentage, such as `97 %` for 0.97.
  static func percent(_ value: Double) -> Figure {
    guard value.isFinite else { return Figure(0, "–") }
    return Figure(value, "\(Int((min(1, max(0, value)) * 100).rounded())) %")
  }

  func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    if let whole = Int(exactly: value) {
      try container.encode(whole)
    } else {
      try container.encode(value.isFinite ? value : 0)
    }
  }

  private static func grouped(_ number: Int) -> String {
    let digits = Array(String(number.magnitude))
    var text = ""
    for (offset, digit) in digits.enumerated() {
      if offset > 0, (digits.count - offset) % 3 == 0 { text.append(",") }
      text.append(digit)
    }
    return (number < 0 ? "−" : "") + text
  }

  static func size(_ bytes: Double) -> String {
    guard bytes.isFinite, bytes >= 0 else { return "–" }
    let units = ["B", "KiB", "MiB", "GiB", "TiB"]
    var (value, unit) = (bytes, 0)
    while value >= 1_024, unit + 1 < units.count { (value, unit) = (value / 1_024, unit + 1) }
    return "\(rounded(value).description) \(units[unit])"
  }

  static func duration(_ ns: Double) -> String {
    let units: [(Double, String)] = [
      (86_400e9, "d"), (3_600e9, "h"), (60e9, "min"), (1e9, "s"), (1e6, "ms"), (1e3, "µs"),
    ]
    for (size, name) in units where ns >= size { return "\(rounded(ns / size).description) \(name)" }
    return "\(rounded(ns).description) ns"
  }
}

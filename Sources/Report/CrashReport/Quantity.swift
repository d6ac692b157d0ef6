/// Formats quantities so that people can read them easily.
package enum Quantity {
  /// Formats a size, such as `412.0 MiB`.
  package static func size(_ bytes: Int) -> String {
    let units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
    var value = Double(bytes)
    var unit = 0
    while value >= 1024 && unit < units.count - 1 {
      value /= 1024
      unit += 1
    }
    guard unit > 0 else { return "\(bytes) bytes" }
    let tenths = Int((value * 10).rounded())
    return "\(tenths / 10).\(tenths % 10) \(units[unit])"
  }

  /// Formats a duration with its two largest units, such as `3d 4h`.
  package static func duration(_ seconds: Int) -> String {
    let units = [(86400, "d"), (3600, "h"), (60, "min"), (1, "s")]
    guard let first = units.firstIndex(where: { seconds >= $0.0 }) else { return "0s" }
    var rest = seconds
    let parts = units[first...].prefix(2).map { length, name in
      defer { rest %= length }
      return (count: rest / length, name: name)
    }
    return parts.filter { $0.count > 0 }.map { "\($0.count)\($0.name)" }.joined(separator: " ")
  }
}

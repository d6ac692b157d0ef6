/// The parameters of one statement, in PostgreSQL's binary format.
package struct Parameters: Sendable {
  /// The types of array elements that statements use, with their object ids in PostgreSQL.
  private enum Element: Int32 {
    case bytes = 17
    case int64 = 20
    case int32 = 23
    case text = 25
    case uuid = 2950
  }

  private(set) var bytes: [UInt8] = []
  private(set) var ends: [Int32] = []

  /// Creates an empty list.
  package init() {}

  package static func + (left: Parameters, right: Parameters) -> Parameters {
    var sum = left
    let base = Int32(clamping: left.bytes.count)
    sum.bytes += right.bytes
    sum.ends += right.ends.map { $0 < 0 ? $0 : $0 + base }
    return sum
  }

  package static func int32(_ value: Int32) -> Parameters { one { $0.append(value) } }
  package static func int64(_ value: Int64) -> Parameters { one { $0.append(value) } }
  package static func text(_ value: String) -> Parameters { one { $0.bytes += value.utf8 } }
  static func bytes(_ value: [UInt8]) -> Parameters { one { $0.bytes += value } }
  package static func uuid(_ value: UInt128) -> Parameters { one { $0.append(value) } }
  /// A text, or null.
  package static func optionalText(_ value: String?) -> Parameters { value.map(text) ?? null }
  package static var null: Parameters {
    var parameters = Parameters()
    parameters.ends.append(-1)
    return parameters
  }

  static func int32s(_ values: [Int32]) -> Parameters { array(.int32, values) { $0.append($1) } }
  package static func int64s(_ values: [Int64]) -> Parameters { array(.int64, values) { $0.append($1) } }
  static func uuids(_ values: [UInt128]) -> Parameters { array(.uuid, values) { $0.append($1) } }
  package static func texts(_ values: [String]) -> Parameters { array(.text, values) { $0.bytes += $1.utf8 } }
  static func optionalTexts(_ values: [String?]) -> Parameters {
    array(.text, values, isNull: { $0 == nil }) { $0.bytes += ($1 ?? "").utf8 }
  }
  static func bytesArray(_ values: [ArraySlice<UInt8>]) -> Parameters { array(.bytes, values) { $0.bytes += $1 } }

  private static func one(_ write: (inout Parameters) -> Void) -> Parameters {
    var parameters = Parameters()
    write(&parameters)
    parameters.ends.append(Int32(clamping: parameters.bytes.count))
    return parameters
  }

  /// Encodes an array: its dimensions, and each element after its length.
  private static func array<Value>(
    _ element: Element, _ values: [Value], isNull: (Value) -> Bool = { _ in false },
    _ write: (inout Parameters, Value) -> Void
  ) -> Parameters {
    one { parameters in
      let hasNulls: Int32 = values.contains(where: isNull) ? 1 : 0
      let head: [Int32] = [values.isEmpty ? 0 : 1, hasNulls, element.rawValue]
      for word in head { parameters.append(word) }
      if values.isEmpty { return }
      parameters.append(Int32(clamping: values.count))
      parameters.append(1 as Int32)
      for value in values {
        guard !isNull(value) else {
          parameters.append(-1 as Int32)
          continue
        }
        let start = parameters.bytes.count
        parameters.append(0 as Int32)
        write(&parameters, value)
        let length = UInt32(clamping: parameters.bytes.count - start - 4)
        for at in 0..<4 { parameters.bytes[start + at] = UInt8(truncatingIfNeeded: length >> (24 - 8 * at)) }
      }
    }
  }

  private mutating func append(_ value: some FixedWidthInteger) {
    for at in stride(from: value.bitWidth - 8, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: value >> at))
    }
  }
}

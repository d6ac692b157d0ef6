import CrashProtocol
import CrashReport

extension OTLPRecord {
  /// The breadcrumbs as an array of maps; nil when there are none.
  static func breadcrumbs(_ report: CrashReport) -> JSONValue? {
    if report.breadcrumbs.isEmpty { return nil }
    return .array(
      report.breadcrumbs.map { breadcrumb in
        .object(known: [
          "time": .text(breadcrumb.time), "message": .string(breadcrumb.text),
          "level": .text(breadcrumb.level?.rawValue), "category": .text(breadcrumb.category),
          "data": breadcrumb.metadata.map { .object($0.mapValues { .string($0) }) },
        ])
      })
  }

  /// A value in the JSON form of protobuf's `AnyValue`; nil for null.
  static func anyValue(_ value: JSONValue?) -> JSONValue? {
    switch value {
    case .string(let text): .object(["stringValue": .string(text)])
    // 64-bit integers are texts in protobuf's JSON.
    case .int(let number): .object(["intValue": .string("\(number)")])
    case .array(let values): .object(["arrayValue": .object(["values": .array(values.compactMap { anyValue($0) })])])
    case .object(let members): .object(["kvlistValue": .object(["values": attributes(members)])])
    default: nil
    }
  }
}

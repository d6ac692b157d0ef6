import CrashProtocol
import CrashReport

extension OTLPRecord {
  /// Returns the breadcrumbs as an array of maps, or nil if there are none.
  static func breadcrumbs(_ report: CrashReport) -> JSONValue? {
    if report.breadcrumbs.isEmpty { return nil }
    return .array(
      report.breadcrumbs.map { breadcrumb in
        .object(known: [
          "time": .text(breadcrumb.time), "message": .string(breadcrumb.text),
          "level": .text(breadcrumb.level?.rawValue), "category": .text(breadcrumb.category),
          "data": breadcrumb.metadata.map { .object($0.mapValues { .string($0) }) },
          "request": breadcrumb.request.map { .string(report.shortName(ofRequest: $0)) },
        ])
      })
  }

  /// Returns a value in the JSON form of protobuf's `AnyValue`, or nil for null.
  static func anyValue(_ value: JSONValue?) -> JSONValue? {
    switch value {
    case .string(let text): .object(["stringValue": .string(text)])
    // Protobuf's JSON encodes 64-bit integers as strings.
    case .int(let number): .object(["intValue": .string("\(number)")])
    case .array(let values): .object(["arrayValue": .object(["values": .array(values.compactMap { anyValue($0) })])])
    case .object(let members): .object(["kvlistValue": .object(["values": attributes(members)])])
    default: nil
    }
  }
}

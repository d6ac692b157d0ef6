import CrashProtocol
import CrashReport

extension OTLPRecord {
  /// The attributes of the request in which the first thread crashed.
  ///
  /// If the operation is a method with a path, `http.request.method` and `http.route` are set, as the semantic
  /// conventions of OpenTelemetry define.
  var requestAttributes: [String: JSONValue?] {
    guard let request = report.request else { return [:] }
    var attributes: [String: JSONValue?] = [
      "crash.request.operation": .text(request.operation),
      "crash.request.id": .text(request.id),
      "crash.request.age_ns": .int(request.age_ns),
      "crash.requests.in_flight": .number(report.inFlight?.total),
    ]
    for (key, value) in request.tags ?? [:] { attributes["crash.request.tag.\(key)"] = .text(value) }
    if let (method, route) = Self.http(request.operation) {
      attributes["http.request.method"] = .string(method)
      attributes["http.route"] = .string(route)
    }
    return attributes
  }

  /// How containment reacted to the crash.
  var containmentAttributes: [String: JSONValue?] {
    guard let containment = report.containment else { return [:] }
    return [
      "crash.containment.mode": .text(containment.mode.rawValue),
      "crash.containment.verdict": .text(containment.verdict?.rawValue),
      "crash.containment.reason": .text(containment.reason?.rawValue),
      "crash.containment.contained": .int(containment.contained),
      "crash.drain.end": .text(containment.drain?.endedBy?.rawValue),
      "crash.drain.finished": .number(containment.drain?.finished),
      "crash.drain.lost": .number(containment.drain?.lost),
    ]
  }

  /// Splits an operation such as `GET /orders/{id}` into the method and the route.
  private static func http(_ operation: String) -> (method: String, route: String)? {
    let parts = operation.split(separator: " ", maxSplits: 1)
    guard parts.count == 2, methods.contains(String(parts[0])), parts[1].hasPrefix("/") else { return nil }
    return (String(parts[0]), String(parts[1]))
  }

  /// The methods that the semantic conventions of OpenTelemetry name.
  private static let methods: Set = [
    "CONNECT", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT", "TRACE",
  ]
}

public import CrashProtocol
public import CrashReport

/// Posts the health of builds as metrics to an OpenTelemetry collector (OTLP/HTTP with JSON).
///
/// All sums are cumulative: each message has the counts since the build was first seen. A message that is lost or sent
/// twice therefore changes nothing.
public struct OTLPMetrics: HealthSink {
  /// The name in log lines.
  public let name = "otlp-metrics"
  /// The host name of this machine.
  public var host: String?
  /// The environment; nil uses the program's annotation `environment`.
  public var environment: String?
  /// The scrubber of names; nil if names are not scrubbed.
  public var scrubber: TextScrubber?

  private let url: String
  private let server: String
  private let headers: [String]
  private let http: HTTPClient

  /// Creates a sink for one collector; fails if `url` is not a valid URL such as `http://127.0.0.1:4318/v1/metrics`.
  public init?(url: String, headers: [String] = [], http: HTTPClient) {
    guard OTLPSink.takes(url: url), let parts = SinkURL(url) else { return nil }
    (self.url, server, self.headers) = (url, parts.host, ["Content-Type: application/json"] + headers)
    self.http = http
  }

  /// Posts the counts of all builds.
  public func deliver(_ builds: [BuildHealth], at time_ns: UInt64) -> Delivery {
    if builds.isEmpty { return .delivered }
    do {
      return http.post(try json(builds, at: time_ns).encoded(), to: url, headers: headers).delivery(from: server)
    } catch { return .refused("cannot encode the metrics: \(error)") }
  }

  func json(_ builds: [BuildHealth], at time_ns: UInt64) -> JSONValue {
    .object([
      "resourceMetrics": .array(
        builds.map { build in
          .object([
            "resource": .object(["attributes": resource(build)]),
            "scopeMetrics": .array([
              .object([
                "scope": .object(["name": .string("swift-crash-shield"), "version": .string(ProductVersion.number)]),
                "metrics": .array(metrics(build, at: time_ns)),
              ])
            ]),
          ])
        })
    ])
  }

  private func resource(_ build: BuildHealth) -> JSONValue {
    let scrub = { (text: String?) in text.map { scrubber?.scrub($0) ?? $0 } }
    return OTLPRecord.attributes([
      "service.name": .text(scrub(build.program)), "service.version": .text(scrub(build.release)),
      "deployment.environment.name": .text(environment ?? scrub(build.environment)), "host.name": .text(host),
      "process.executable.build_id.gnu": .text(build.build), "process.user.id": .int(build.uid),
    ])
  }

  private func metrics(_ build: BuildHealth, at time_ns: UInt64) -> [JSONValue] {
    let start_ns = min(Timestamp.nanoseconds(rfc3339: build.firstSeen) ?? 0, time_ns)
    let point = { (value: JSONValue, attributes: [String: JSONValue?]) -> JSONValue in
      .object(
        known: [
          // Protobuf's JSON encodes a 64-bit number as a string.
          "startTimeUnixNano": .string("\(start_ns)"), "timeUnixNano": .string("\(time_ns)"),
          "attributes": attributes.isEmpty ? nil : OTLPRecord.attributes(attributes),
        ].merging(value.members ?? [:]) { first, _ in first })
    }
    let int = { (number: Int) in JSONValue.object(["asInt": .string("\(number)")]) }
    let sum = { (name: String, unit: String, about: String, points: [JSONValue]) -> JSONValue in
      .object([
        "name": .string(name), "unit": .string(unit), "description": .string(about),
        "sum": .object([
          "aggregationTemporality": .int(2), "isMonotonic": .bool(true), "dataPoints": .array(points),
        ]),
      ])
    }
    var metrics = [
      sum("process.crash.count", "{crash}", "Processes that a crash ended.", [point(int(build.crashes), [:])]),
      sum(
        "process.crash.exposure", "s", "Running time of all processes together.",
        [point(.object(["asDouble": .double(build.processSeconds)]), [:])]),
    ]
    if let requests = build.requests {
      let outcomes = [("finished", requests.finished), ("failed", requests.failed), ("lost", requests.lost)]
      metrics += [
        sum("process.crash.requests.begun", "{request}", "Requests that began.", [point(int(requests.begun), [:])]),
        sum(
          "process.crash.requests.ended", "{request}", "Requests that ended, or that a crash of their process ended.",
          outcomes.map { point(int($0.1), ["outcome": .string($0.0)]) }),
      ]
    }
    return metrics
  }
}

extension JSONValue {
  fileprivate var members: [String: JSONValue?]? {
    if case .object(let members) = self { members } else { nil }
  }
}

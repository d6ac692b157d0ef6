import CrashProtocol
import CrashReport

/// A crash as a log record of OpenTelemetry, in the JSON form of its protobuf messages.
///
/// If OpenTelemetry's semantic conventions define a name for an attribute, the attribute has this name: `exception.…`,
/// `process.…`, `service.…`.
struct OTLPRecord {
  var report: CrashReport
  var host: String?
  var environment: String?

  var json: JSONValue {
    .object([
      "resourceLogs": .array([
        .object([
          "resource": .object(["attributes": resource]),
          "scopeLogs": .array([
            .object(["scope": .object(["name": .string("swift-crash-shield")]), "logRecords": .array([record])])
          ]),
        ])
      ])
    ])
  }

  private var resource: JSONValue {
    let (process, machine) = (report.process, report.machine)
    let container = report.container
    return Self.attributes([
      "service.name": .text(process.name),
      "service.version": .text(report[.release] ?? report.annotations["version"]),
      "deployment.environment.name": .text(environment ?? report[.environment]),
      "host.name": .text(machine?.host ?? host),
      "host.id": .text(machine?.id),
      "host.arch": .text(process.architecture.map { Self.architectures[$0] ?? $0 }),
      "host.cpu.model.name": .text(machine?.processor),
      "os.type": .string("linux"),
      "os.description": .text(machine?.distribution),
      "os.version": .text(machine?.kernel.map { $0.hasPrefix("Linux ") ? String($0.dropFirst(6)) : $0 }),
      "service.instance.id": .text(serviceInstance),
      "container.id": .text(container?.id),
      "container.runtime.name": .text(container?.runtime),
      "k8s.pod.uid": .text(container?.podUID),
      "k8s.pod.name": .text(container?.pod),
      "k8s.namespace.name": .text(container?.namespace),
      "k8s.node.name": .text(container?.node),
      "k8s.container.name": .text(container?.name),
      "process.command_line": .text(process.commandLine),
      "process.linux.cgroup": .text(process.cgroup),
      "process.runtime.name": .text(process.swiftVersion == nil ? nil : "swift"),
      "process.runtime.version": .text(process.swiftVersion),
      "process.pid": .int(process.pid),
      "process.executable.path": .text(process.executable),
      "process.executable.build_id.gnu": .text(process.buildID),
      "process.creation.time": .text(process.startTime),
      "process.real_user.id": .int(process.uid),
      "systemd.unit": .text(process.unit),
    ])
  }

  /// The names of architectures in the semantic conventions.
  private static let architectures = ["x86_64": "amd64", "aarch64": "arm64"]

  /// The instance of the service, as the semantic conventions propose for Kubernetes:
  /// `k8s.namespace.name.k8s.pod.name.k8s.container.name`, else the pod's uid with the container's name, else the
  /// container's ID.
  private var serviceInstance: String? {
    guard let container = report.container else { return nil }
    if let namespace = container.namespace, let pod = container.pod, let name = container.name {
      return "\(namespace).\(pod).\(name)"
    }
    if let uid = container.podUID, let name = container.name { return "\(uid).\(name)" }
    return container.id
  }

  private var record: JSONValue {
    let time = Timestamp.nanoseconds(rfc3339: report.time).map { "\($0)" }
    return .object(known: [
      // Protobuf's JSON encodes 64-bit integers as strings.
      "timeUnixNano": .text(time), "observedTimeUnixNano": .text(time),
      // The severity number 21 is FATAL.
      "severityNumber": .int(21), "severityText": .string("FATAL"), "eventName": .string("crash"),
      "body": .object(["stringValue": .string(report.headline)]),
      "traceId": .text(report.request?.traceID), "spanId": spanID,
      "attributes": attributes,
    ])
  }

  /// The span ID of the request, which is valid only together with a trace ID.
  private var spanID: JSONValue? {
    report.request.flatMap { $0.traceID?.isEmpty == false ? .text($0.spanID) : nil }
  }

  private var attributes: JSONValue {
    let (frame, process, resources) = (report.blamedFrame, report.process, report.resources)
    let own = Dictionary(
      report.otherAnnotations.map { ("crash.annotation.\($0)", JSONValue.text($1)) },
      uniquingKeysWith: { first, _ in first })
    return Self.attributes(
      [
        "exception.type": .text(report.signal.name),
        "exception.message": .text(report.reason.isEmpty ? report.diagnosis.sentence : report.reason),
        "exception.stacktrace": .text(report.stackText()),
        "crash.id": .text(report.id),
        "crash.group": .text(report.group.key),
        "crash.group.title": .text(report.group.title),
        "crash.cause": .text(report.diagnosis.cause.rawValue),
        "crash.class": .text(report.diagnosis.objectClass),
        "crash.sentence": .text(report.diagnosis.sentence),
        "crash.signal.code": .text(report.signal.codeName),
        "crash.address": .text(report.signal.address?.description),
        "user.id": .text(report[.user]),
        "crash.uptime_ms": .number(process.uptime_ms),
        "crash.memory.resident_bytes": .number(resources?.residentBytes),
        "crash.memory.peak_bytes": .number(resources?.peakResidentBytes),
        "crash.memory.limit_bytes": .number(resources?.memoryLimitBytes),
        "crash.descriptors.open": .number(resources?.openDescriptors),
        "crash.descriptors.limit": .number(resources?.descriptorLimit),
        "crash.breadcrumbs": Self.breadcrumbs(report),
        "thread.id": .number(report.mainThread?.tid),
        "thread.name": .text(report.mainThread?.name),
        "code.function.name": .text(frame?.name),
        "code.file.path": .text(frame?.file),
        "code.line.number": .number(frame?.line),
      ].merging(own) { first, _ in first }
        .merging(requestAttributes) { first, _ in first }
        .merging(containmentAttributes) { first, _ in first })
  }

  static func attributes(_ members: [String: JSONValue?]) -> JSONValue {
    .array(
      members.sorted { $0.key < $1.key }.compactMap { key, value in
        anyValue(value).map { .object(["key": .string(key), "value": $0]) }
      })
  }
}

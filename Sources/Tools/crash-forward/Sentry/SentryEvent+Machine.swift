import CrashProtocol
import CrashReport

// The parts of an event that describe the machine and the program's annotations.
extension SentryEvent {
  /// The maximum lengths of a tag's key and value.
  ///
  /// Sentry drops tags whose key or value exceeds these lengths.
  private static let (tagKeyLimit, tagValueLimit) = (32, 200)

  /// The user for whom the program worked, from the program's annotation `user`.
  var user: JSONValue? { report[.user].map { .object(["id": .string($0)]) } }

  /// The annotations that are valid as tags in Sentry, the container and its pod, and crashd's own tags, which take
  /// precedence.
  var tags: JSONValue {
    let own: [String: JSONValue?] = [
      "signal": .text(report.signal.name), "cause": .text(report.diagnosis.cause.rawValue),
      "unit": .text(report.process.unit), "program": .text(report.process.name), "group": .text(report.group.key),
      "class": .text(report.diagnosis.objectClass),
    ]
    let container = report.tags.filter { $0.key.hasPrefix("k8s.") || $0.key == "container.id" }
    let annotations = report.otherAnnotations.merging(container) { $1 }.filter { Self.isTag($0.key, $0.value) }
      .mapValues { JSONValue.text($0) }
    return .object(known: annotations.merging(own) { $1 })
  }

  /// The contexts that Sentry defines, the context `crash` with crashd's own facts, and the contexts of the request and
  /// of containment.
  var contexts: JSONValue {
    var own = ["crash": crashContext].merging(requestContexts) { $1 }
    own["containment"] = containmentContext
    return .object(machineContexts.merging(own) { $1 })
  }

  /// The context `server_request`, and the context `trace`, which links the event to the other events of its trace.
  private var requestContexts: [String: JSONValue] {
    guard let request = report.request else { return [:] }
    var contexts: [String: JSONValue] = [
      "server_request": .object(known: [
        "operation": .text(request.operation), "id": .text(request.id), "number": .int(request.number),
        "started": .text(request.startTime), "age_ms": .int(request.age_ns / 1_000_000),
        "in_flight": .number(report.inFlight?.total),
        "tags": request.tags.map { .object($0.mapValues { .string($0) }) },
      ])
    ]
    // Add the trace only if both IDs are known, because Sentry rejects a trace with only one of them.
    if let trace = request.traceID, let span = request.spanID {
      contexts["trace"] = .object(known: [
        "trace_id": .string(trace), "span_id": .string(span), "status": .string("internal_error"),
      ])
    }
    return contexts
  }

  /// The reaction of containment to the crash; nil if containment was off.
  private var containmentContext: JSONValue? {
    guard let containment = report.containment else { return nil }
    let drain = containment.drain
    return .object(known: [
      "type": .string("containment"), "summary": .text(report.containmentText),
      "mode": .text(containment.mode.rawValue), "verdict": .text(containment.verdict?.rawValue),
      "reason": .text(containment.reason?.rawValue), "contained": .int(containment.contained),
      "drain_end": .text(drain?.endedBy?.rawValue), "drain_finished": .number(drain?.finished),
      "drain_lost": .number(drain?.lost),
    ])
  }

  private static func isTag(_ key: String, _ value: String) -> Bool {
    let isName = key.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"),
        UInt8(ascii: "-"):
        true
      default: false
      }
    }
    return isName && key.utf8.count <= tagKeyLimit && value.count <= tagValueLimit && !value.contains("\n")
  }

  /// The contexts that describe the machine, with the names that Sentry defines.
  ///
  /// Contexts without a value are omitted.
  private var machineContexts: [String: JSONValue] {
    let (machine, process, resources) = (report.machine, report.process, report.resources)
    let contexts: [String: [String: JSONValue?]] = [
      "os": [
        "name": .text(machine?.kernel == nil ? nil : "Linux"), "kernel_version": .text(machine?.kernel),
        "version": .text(machine?.distribution),
      ],
      "device": [
        "name": .text(machine?.host), "arch": .text(process.architecture.map { $0 == "aarch64" ? "arm64" : $0 }),
        "cpu_description": .text(machine?.processor),
        "processor_count": .number(machine?.processors), "memory_size": .number(machine?.memoryBytes),
      ],
      "runtime": ["name": .text(process.swiftVersion == nil ? nil : "Swift"), "version": .text(process.swiftVersion)],
      "app": [
        "app_start_time": .text(process.startTime), "app_memory": .number(resources?.residentBytes),
        "app_name": .text(process.name),
      ],
      "process": [
        "command_line": .text(process.commandLine), "cgroup": .text(process.cgroup),
        "uptime_ms": .number(process.uptime_ms), "memory_peak": .number(resources?.peakResidentBytes),
        "memory_limit": .number(resources?.memoryLimitBytes), "open_descriptors": .number(resources?.openDescriptors),
        "descriptor_limit": .number(resources?.descriptorLimit),
      ],
      "container": [
        "id": .text(report.container?.id), "runtime": .text(report.container?.runtime),
        "name": .text(report.container?.name),
      ],
      "k8s": [
        "pod_name": .text(report.container?.pod), "pod_uid": .text(report.container?.podUID),
        "namespace": .text(report.container?.namespace), "node": .text(report.container?.node),
      ],
    ]
    return contexts.compactMapValues { members -> JSONValue? in
      let known = members.compactMapValues { $0 }
      return known.isEmpty ? nil : .object(known)
    }
  }
}

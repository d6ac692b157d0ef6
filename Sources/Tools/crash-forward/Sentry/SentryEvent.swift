import CrashProtocol
import CrashReport

/// A crash as a Sentry event: <https://develop.sentry.dev/sdk/data-model/event-payloads/>.
struct SentryEvent {
  static let frameLimit = 250

  var report: CrashReport
  var environment: String?
  var release: String?
  var host: String?

  var json: JSONValue {
    .object(known: [
      "event_id": .string(report.id),
      "timestamp": .string(report.time),
      "platform": .string("native"),
      "level": .string("fatal"),
      "logger": .string("swift-crash-shield"),
      // With this fingerprint, Sentry creates one issue per group. Without a fingerprint, Sentry would group the events
      // by stack.
      "fingerprint": .array([.string(report.group.key)]),
      "release": .text(release ?? Self.release(of: report)),
      "environment": .text(environment ?? report[.environment]),
      "server_name": .text(report.machine?.host ?? host),
      "user": user,
      "transaction": .text(transaction),
      "exception": .object(["values": .array([exception])]),
      "threads": .object(["values": .array(report.threads.prefix(64).map(thread))]),
      "debug_meta": .object(["images": .array(report.images.map(image))]),
      "breadcrumbs": .object(["values": .array(report.breadcrumbs.map(breadcrumb))]),
      "tags": tags,
      "contexts": contexts,
      "extra": .object(report.otherAnnotations.mapValues { .string($0) }),
    ])
  }

  /// The operation of the request, or the function that crashed if there was no request.
  private var transaction: String? {
    report.request.flatMap { $0.operation.isEmpty ? nil : $0.operation } ?? report.blamedFrame?.name
  }

  /// Returns the release: the program's annotation `release`, or the program's build.
  private static func release(of report: CrashReport) -> String? {
    let version = report.annotations["version"] ?? String(report.process.buildID.prefix(12))
    let build = version.isEmpty ? nil : "\(report.process.name)@\(version)"
    // Replace slashes, which Sentry does not accept in a release.
    return (report[.release] ?? build)?.replacing("/", with: "-")
  }

  private var exception: JSONValue {
    let signal = report.signal
    return .object(known: [
      "type": .string(signal.name),
      "value": .string(report.diagnosis.sentence.isEmpty ? report.reason : report.diagnosis.sentence),
      "thread_id": .number(report.mainThread?.tid),
      "mechanism": .object(known: [
        "type": .string("signalhandler"), "handled": .bool(false),
        "meta": .object([
          "signal": .object(known: [
            "number": .int(signal.number), "name": .text(signal.name), "code": .int(signal.code),
            "code_name": .text(signal.codeName),
          ])
        ]),
      ]),
      "stacktrace": report.mainThread.flatMap(stack),
    ])
  }

  var crashContext: JSONValue {
    .object(known: [
      "type": .string("crash"), "group": .text(report.group.title), "reason": .text(report.reason),
      "rule": .text(report.diagnosis.rule), "confidence": .double(report.diagnosis.confidence),
      "pid": .int(report.process.pid), "executable": .text(report.process.executable),
      "build_id": .text(report.process.buildID), "started": .text(report.process.startTime),
    ])
  }

  private func thread(_ thread: CrashReport.CrashedThread) -> JSONValue {
    .object(known: [
      "id": .int(thread.tid), "name": .text(thread.name), "crashed": .bool(thread.crashed),
      // Omit the stack of `mainThread`, because the exception already contains it.
      "stacktrace": thread.tid == report.mainThread?.tid ? nil : stack(thread),
    ])
  }

  /// Returns the frames, outermost first as Sentry requires, or nil if there are none.
  private func stack(_ thread: CrashReport.CrashedThread) -> JSONValue? {
    if thread.frames.isEmpty { return nil }
    return .object(["frames": .array(thread.frames.prefix(Self.frameLimit).reversed().map(frame))])
  }

  private func frame(_ frame: CrashReport.Frame) -> JSONValue {
    .object(known: [
      "function": .text(frame.name), "raw_function": .text(frame.mangled),
      "filename": .text(frame.file.map { $0.split(separator: "/").last.map(String.init) ?? $0 }),
      "abs_path": .text(frame.file), "lineno": .number(frame.line), "colno": .number(frame.column),
      "package": .text(frame.image), "instruction_addr": .string(frame.address.description),
      "symbol_addr": .text(frame.symbolAddress?.description), "in_app": .bool(frame.isOwn),
      "trust": .text(frame.trust.rawValue),
    ])
  }

  private func image(_ image: CrashReport.Image) -> JSONValue {
    .object(known: [
      "type": .string("elf"), "code_file": .text(image.path), "code_id": .text(image.buildID),
      "debug_id": .text(Self.debugID(image.buildID)), "image_addr": .string(image.base.description),
      "image_size": .int(
        Int(clamping: image.end.rawValue.subtractingReportingOverflow(image.base.rawValue).partialValue)),
    ])
  }

  /// Returns the first 16 bytes of a build id as a UUID.
  ///
  /// The first three fields of the UUID are little-endian.
  static func debugID(_ buildID: String) -> String? {
    let digits = Array(buildID.utf8)
    guard digits.count >= 32 else { return nil }
    let bytes = stride(from: 0, to: 32, by: 2).map { String(decoding: digits[$0..<$0 + 2], as: UTF8.self) }
    let fields = [[3, 2, 1, 0], [5, 4], [7, 6], [8, 9], [10, 11, 12, 13, 14, 15]]
    return fields.map { $0.map { bytes[$0] }.joined() }.joined(separator: "-")
  }

  private func breadcrumb(_ crumb: CrashReport.Breadcrumb) -> JSONValue {
    .object(known: [
      "timestamp": .string(crumb.time), "message": .string(crumb.text), "type": .string("default"),
      "level": crumb.level.map { .string(Self.level($0)) }, "category": .text(crumb.category),
      "data": data(of: crumb),
    ])
  }

  /// Returns the metadata with the request, or nil if there is neither.
  private func data(of crumb: CrashReport.Breadcrumb) -> JSONValue? {
    var data = (crumb.metadata ?? [:]).mapValues { JSONValue.string($0) }
    if let request = crumb.request { data["request"] = .string(report.shortName(ofRequest: request)) }
    return data.isEmpty ? nil : .object(data)
  }

  /// Maps the level to one of Sentry's five levels.
  private static func level(_ level: CrashReport.Breadcrumb.Level) -> String {
    switch level {
    case .trace, .debug: "debug"
    case .warning: "warning"
    case .error: "error"
    case .critical: "fatal"
    default: "info"
    }
  }
}

import CrashReport
import FoundationEssentials
import TestKit
import Testing

@Suite("ReportCoding")
struct ReportCodingTests {
  @Test("a report is unchanged after encoding and decoding in both JSON forms", arguments: [true, false])
  func roundTrip(pretty: Bool) throws {
    for report in [Sample.indexOutOfRange, Sample.everything] {
      let json = try ReportCoding.encode(report, pretty: pretty)
      #expect(try ReportCoding.decode(json.utf8) == report)
      #expect(json.contains("\n") == pretty)
    }
  }

  @Test("optional parts of threads and frames are unchanged after encoding and decoding")
  func rare() throws {
    var report = Sample.everything
    report.threads[0].silence = CrashReport.Silence(isBlocking: true, runState: "D")
    report.threads[0].task = CrashReport.Task(id: 7, priority: 0x19, name: "orders")
    report.threads[0].frames[0].signature = "Cart.total(of: Swift.Int) async throws -> Swift.Int"
    #expect(try ReportCoding.decode(ReportCoding.encode(report).utf8) == report)
  }

  @Test("a report's JSON has exactly the documented keys")
  func keys() throws {
    var report = Sample.everything
    report.containment?.obstacle = "hook"
    let json = try ReportCoding.encode(report)
    let tree = try JSONDecoder().decode(Tree.self, from: Data(json.utf8))
    #expect(
      tree.keys(dictionaries: ["annotations", "registers", "losses", "tags"]) == [
        "annotations", "breadcrumbs", "breadcrumbs.request", "breadcrumbs.text", "breadcrumbs.time", "container",
        "container.claimed", "container.id", "container.name", "container.namespace", "container.node",
        "container.pod", "container.podUID", "container.runtime", "container.source",
        "containment", "containment.budget", "containment.contained",
        "containment.drain", "containment.drain.durationNanoseconds", "containment.drain.endedBy",
        "containment.drain.finished", "containment.drain.lost", "containment.mode", "containment.obstacle",
        "containment.reason", "containment.verdict", "diagnosis", "diagnosis.cause", "diagnosis.confidence",
        "diagnosis.rule", "diagnosis.sentence", "environment", "group", "group.key", "group.title", "id",
        "images", "images.base", "images.buildID", "images.end", "images.path", "inFlight", "inFlight.overflow",
        "inFlight.requests", "inFlight.requests.age_ns", "inFlight.requests.crashed", "inFlight.requests.id",
        "inFlight.requests.number", "inFlight.requests.operation", "inFlight.requests.spanID",
        "inFlight.requests.startTime", "inFlight.requests.tags", "inFlight.requests.traceID", "inFlight.total",
        "losses", "machine",
        "machine.distribution", "machine.host", "machine.id", "machine.kernel", "machine.memoryBytes",
        "machine.processor", "machine.processors", "process", "process.architecture", "process.buildID",
        "process.cgroup",
        "process.commandLine", "process.executable", "process.name", "process.pid", "process.requests",
        "process.requests.begun", "process.requests.failed", "process.requests.finished", "process.requests.lost",
        "process.startTime",
        "process.swiftVersion", "process.uid", "process.unit", "process.uptime_ms", "reason", "release", "resources",
        "resources.descriptorLimit", "resources.groupBytes", "resources.memoryLimitBytes",
        "resources.memoryLimitSource", "resources.openDescriptors", "resources.peakResidentBytes",
        "resources.residentBytes", "resources.swapBytes", "resources.time", "schema", "signal", "signal.address",
        "signal.code", "signal.codeName",
        "signal.name", "signal.number", "signal.sender", "threads", "threads.crashed", "threads.frames",
        "threads.frames.address",
        "threads.frames.column", "threads.frames.file", "threads.frames.function", "threads.frames.image",
        "threads.frames.isAsync", "threads.frames.isInline", "threads.frames.isOwn", "threads.frames.line",
        "threads.frames.mangled", "threads.frames.symbolAddress", "threads.frames.trust",
        "threads.framesBeforeGap", "threads.framesOmitted", "threads.name", "threads.reason", "threads.registers",
        "threads.request", "threads.request.age_ns", "threads.request.id", "threads.request.number",
        "threads.request.operation", "threads.request.spanID", "threads.request.startTime", "threads.request.tags",
        "threads.request.traceID",
        "threads.signal", "threads.signal.address", "threads.signal.code", "threads.signal.codeName",
        "threads.signal.name", "threads.signal.number", "threads.signal.sender", "threads.signal.sender.pid",
        "threads.signal.sender.uid", "threads.tid", "time", "timing", "timing.commit_ns", "timing.entry_ns",
        "timing.stored_ns", "user",
      ])
  }

  @Test("a missing value is encoded as null, so that its key is present")
  func nulls() throws {
    var report = Sample.indexOutOfRange
    report.process.unit = nil
    report.signal.sender = nil
    report.threads[0].frames = [CrashReport.Frame(address: 1, trust: .scan)]
    let json = try ReportCoding.encode(report)
    for key in ["unit", "sender", "symbolAddress", "file", "line", "column", "image"] {
      #expect(json.contains("\"\(key)\":null"), "\(key)")
    }
    #expect(try ReportCoding.decode(json.utf8) == report)
  }

  @Test("keys that a later version adds to a report are ignored")
  func unknownKeys() throws {
    var json = try ReportCoding.encode(Sample.indexOutOfRange)
    json.insert(contentsOf: #""laterKey":{"a":[1]},"#, at: json.index(after: json.startIndex))
    #expect(try ReportCoding.decode(json.utf8) == Sample.indexOutOfRange)
  }

  @Test("an address is a string of hexadecimal digits; other values are refused")
  func addresses() throws {
    #expect(
      String(decoding: try JSONEncoder().encode([Address(UInt64.max)]), as: UTF8.self) == #"["0xffffffffffffffff"]"#)
    for wrong in [#"["ff"]"#, #"["0x"]"#, #"["0x-1"]"#, #"["0x10000000000000000"]"#, "[1]"] {
      #expect(throws: DecodingError.self) { try JSONDecoder().decode([Address].self, from: Data(wrong.utf8)) }
    }
  }

  @Test("the JSON of a report has no raw control characters, and decodes to the original text")
  func controlCharacters() throws {
    var report = Sample.indexOutOfRange
    report.reason = "a\u{1b}[31m\u{9b}\u{7f}\u{202e}\n\t\u{1f600}"
    let json = try ReportCoding.encode(report)
    #expect(!json.unicodeScalars.contains { $0.value < 0x20 || (0x7f...0x9f).contains($0.value) || $0.value == 0x202e })
    #expect(try ReportCoding.decode(json.utf8) == report)
  }

  @Test("the JSON of a report has sorted keys and no escaped slashes")
  func form() throws {
    let json = try ReportCoding.encode(Sample.indexOutOfRange)
    #expect(json.contains(#""executable":"/srv/bin/CartServer""#))
    #expect(json.hasPrefix(#"{"annotations":"#))
  }
}

/// A generic JSON value.
private enum Tree: Decodable {
  case object([String: Tree])
  case array([Tree])
  case leaf

  init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    if let object = try? container.decode([String: Tree].self) {
      self = .object(object)
    } else if let array = try? container.decode([Tree].self) {
      self = .array(array)
    } else {
      self = .leaf
    }
  }

  /// Returns the sorted paths of all keys.
  ///
  /// The paths omit the keys inside `dictionaries`, because these keys are arbitrary.
  func keys(dictionaries: Set<String>) -> [String] {
    paths(prefix: "", dictionaries: dictionaries).sorted()
  }

  private func paths(prefix: String, dictionaries: Set<String>) -> Set<String> {
    switch self {
    case .leaf: return []
    case .array(let elements):
      return elements.reduce(into: []) { $0.formUnion($1.paths(prefix: prefix, dictionaries: dictionaries)) }
    case .object(let object):
      return object.reduce(into: []) { paths, entry in
        paths.insert(prefix + entry.key)
        if dictionaries.contains(entry.key) { return }
        paths.formUnion(entry.value.paths(prefix: prefix + entry.key + ".", dictionaries: dictionaries))
      }
    }
  }
}

internal import CrashReport

/// The members of an item that the fleet reads.
struct IngestFields {
  var host: Host?
  var revision: Int64?
  var report: Report?
  var body: Range<Int>?
  var count: Count?
  var position: Position?
  var answer: Answer?

  /// The limits of strings in bytes.
  ///
  /// Longer strings are truncated; the stored JSON of the report keeps them.
  enum Limit {
    static let name = 256
    static let title = 1_024
    static let key = 128
    static let cursor = 256
  }

  struct Host {
    var machine: String?
    var name: String?

    init(_ scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var (machine, name): (String?, String?)
      try scanner.members("host", depth: depth) { (scanner, key) throws(IngestProblem) in
        switch key {
        // A report has the members `id` and `host`, and an item has `machine` and `name` for the same values.
        case "id", "machine": machine = try scanner.text(key, limit: Limit.key)
        case "host", "name": name = try scanner.text(key, limit: Limit.name)
        default: try scanner.skip(depth: depth + 1)
        }
      }
      (self.machine, self.name) = (machine, name)
    }

    /// The host; nil if its machine id is missing or malformed.
    var host: IncomingHost? {
      guard let number = machine.flatMap(IngestFields.number128) else { return nil }
      return IncomingHost(machine: number, name: name ?? "")
    }
  }

  struct Group {
    var key: String?
    var title: String?
    var coarse: String?
    var version: Int64 = 1

    init(_ scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var (key, title, coarse): (String?, String?, String?)
      var version: Int64 = 1
      try scanner.members("group", depth: depth) { (scanner, member) throws(IngestProblem) in
        switch member {
        case "key": key = try scanner.text("group.key", limit: Limit.key)
        case "title": title = try scanner.text("group.title", limit: Limit.title)
        case "coarse": coarse = try scanner.text("group.coarse", limit: Limit.key)
        case "version": version = try scanner.integer("group.version")
        default: try scanner.skip(depth: depth + 1)
        }
      }
      (self.key, self.title, self.coarse, self.version) = (key, title, coarse, version)
    }

    func group(cause: String?, signal: String?) throws(IngestProblem) -> IncomingGroup {
      guard let key, !key.isEmpty else { throw IngestFields.missing("group.key") }
      guard let version = Int32(exactly: version) else {
        throw IngestProblem(.invalid, "'group.version' is out of range")
      }
      return IncomingGroup(
        key: key, version: version, title: title ?? "", coarse: coarse, cause: cause ?? "", signal: signal ?? "")
    }
  }

  /// Reads one member of an object, and skips the others.
  static func text(
    _ member: String, of name: String, _ scanner: inout JSONScanner, depth: Int
  ) throws(IngestProblem) -> String? {
    scanner.skipSpace()
    if scanner.isNull {
      try scanner.skip(depth: depth)
      return nil
    }
    var text: String?
    try scanner.members(name, depth: depth) { (scanner, key) throws(IngestProblem) in
      if key == member {
        text = try scanner.text("\(name).\(member)", limit: Limit.name)
      } else {
        try scanner.skip(depth: depth + 1)
      }
    }
    return text
  }

  static func missing(_ name: String) -> IngestProblem { IngestProblem(.missing, "the field '\(name)' is missing") }

  /// Parses 32 hexadecimal digits; also accepts the hyphens of a UUID.
  static func number128(_ text: String) -> UInt128? {
    let digits = text.utf8.filter { $0 != UInt8(ascii: "-") }
    // Check the digits, because Swift's initializer of integers would accept a sign.
    guard digits.count == 32, digits.first != UInt8(ascii: "+") else { return nil }
    return UInt128(String(decoding: digits, as: UTF8.self), radix: 16)
  }

  func item(in body: [UInt8]) throws(IngestProblem) -> IngestItem {
    if let report, let range = self.body {
      return .report(try report.report(in: body, range, revision: revision ?? 0, sender: host))
    }
    if let count { return .count(try count.count(sender: host)) }
    if let position { return .position(try position.position(sender: host)) }
    if let answer { return .answer(try answer.answer(sender: host)) }
    throw IngestProblem(.unknown, "an item needs one of the members 'report', 'count', 'position' and 'answer'")
  }

  /// The host of an item.
  ///
  /// The item or its report names it.
  static func host(_ first: Host?, _ second: Host?) throws(IngestProblem) -> IncomingHost {
    if let host = first?.host ?? second?.host { return host }
    throw IngestProblem(
      .missing, "the item names no machine: give 'host': {'machine': 32 hexadecimal digits, 'name': a name}")
  }
}

extension IngestFields {
  /// The members of a report by which the database searches.
  struct Report {
    private var (id, time, program, build, unit): (String?, String?, String?, String?, String?)
    private var (signal, cause, release, environment): (String?, String?, String?, String?)
    private var route: String?
    private var machine: Host?
    private var group: Group?

    init(_ scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var report = Self()
      try scanner.members("report", depth: depth) { (scanner, key) throws(IngestProblem) in
        switch key {
        case "id": report.id = try scanner.text("report.id", limit: Limit.key)
        case "time": report.time = try scanner.text("report.time", limit: Limit.key)
        case "release": report.release = try scanner.text("report.release", limit: Limit.name)
        case "environment": report.environment = try scanner.text("report.environment", limit: Limit.name)
        case "process": try report.read(process: &scanner, depth: depth + 1)
        case "signal": report.signal = try IngestFields.text("name", of: "signal", &scanner, depth: depth + 1)
        case "diagnosis": report.cause = try IngestFields.text("cause", of: "diagnosis", &scanner, depth: depth + 1)
        case "request": report.route = try IngestFields.text("operation", of: "request", &scanner, depth: depth + 1)
        case "group": report.group = try Group(&scanner, depth: depth + 1)
        case "machine":
          scanner.skipSpace()
          if scanner.isNull {
            try scanner.skip(depth: depth + 1)
          } else {
            report.machine = try Host(&scanner, depth: depth + 1)
          }
        default: try scanner.skip(depth: depth + 1)
        }
      }
      self = report
    }

    private init() {}

    private mutating func read(process scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var (program, build, unit): (String?, String?, String?)
      try scanner.members("process", depth: depth) { (scanner, key) throws(IngestProblem) in
        switch key {
        case "name": program = try scanner.text("process.name", limit: Limit.name)
        case "buildID": build = try scanner.text("process.buildID", limit: Limit.key)
        case "unit": unit = try scanner.text("process.unit", limit: Limit.name)
        default: try scanner.skip(depth: depth + 1)
        }
      }
      (self.program, self.build, self.unit) = (program, build, unit)
    }

    func report(
      in bytes: [UInt8], _ range: Range<Int>, revision: Int64, sender: Host?
    ) throws(IngestProblem) -> IncomingReport {
      guard let text = id else { throw IngestFields.missing("report.id") }
      guard let id = IngestFields.number128(text) else {
        throw IngestProblem(.invalid, "'report.id' must have 32 hexadecimal digits")
      }
      guard let program, !program.isEmpty else { throw IngestFields.missing("report.process.name") }
      guard let group else { throw IngestFields.missing("report.group") }
      guard let time, let time_ns = Timestamp.nanoseconds(rfc3339: time) else {
        throw IngestProblem(.invalid, "'report.time' must be a time as in RFC 3339")
      }
      var report = IncomingReport(
        id: id, revision: revision, time_us: Int64(time_ns / 1_000),
        host: try IngestFields.host(machine, sender), build: IncomingBuild(program: program, build: build ?? ""),
        group: try group.group(cause: cause, signal: signal), body: bytes[range])
      (report.unit, report.release, report.environment, report.route) = (unit, release, environment, route)
      return report
    }
  }

  struct Count {
    private var (program, build, cause, signal): (String?, String?, String?, String?)
    private var group: Group?
    private var (hour, run, crashes): (Int64?, Int64?, Int64?)

    /// The highest hour is in the year 9999.
    private static let latestHour: Int64 = 70_389_000
    /// The maximum number of crashes of one counter.
    ///
    /// The sum of an issue overflows after nine billion such counters, so a tenant cannot reach it.
    private static let mostCrashes: Int64 = 1_000_000_000

    init(_ scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var count = Self()
      try scanner.members("count", depth: depth) { (scanner, key) throws(IngestProblem) in
        switch key {
        case "program": count.program = try scanner.text("count.program", limit: Limit.name)
        case "build": count.build = try scanner.text("count.build", limit: Limit.key)
        case "cause": count.cause = try scanner.text("count.cause", limit: Limit.name)
        case "signal": count.signal = try scanner.text("count.signal", limit: Limit.name)
        case "group": count.group = try Group(&scanner, depth: depth + 1)
        case "hour": count.hour = try scanner.integer("count.hour")
        case "run": count.run = try scanner.integer("count.run")
        case "crashes": count.crashes = try scanner.integer("count.crashes")
        default: try scanner.skip(depth: depth + 1)
        }
      }
      self = count
    }

    private init() {}

    func count(sender: Host?) throws(IngestProblem) -> IncomingCount {
      guard let program, !program.isEmpty else { throw IngestFields.missing("count.program") }
      guard let group else { throw IngestFields.missing("count.group") }
      guard let hour, (0...Self.latestHour).contains(hour) else {
        throw IngestProblem(.invalid, "'count.hour' must be the number of hours since 1970")
      }
      guard let run, run > 0 else { throw IngestProblem(.invalid, "'count.run' must be a number above 0") }
      guard let crashes, (0...Self.mostCrashes).contains(crashes) else {
        throw IngestProblem(.invalid, "'count.crashes' must be from 0 to \(Self.mostCrashes)")
      }
      return IncomingCount(
        host: try IngestFields.host(sender, nil), build: IncomingBuild(program: program, build: build ?? ""),
        group: try group.group(cause: cause, signal: signal), hour: hour, run: run, crashes: crashes)
    }
  }

  struct Position {
    /// The end of the year 9999.
    private static let latest_us: Int64 = 253_402_300_799_000_000

    private var (stream, cursor): (String?, String?)
    private var time_us: Int64?

    init(_ scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var (stream, cursor): (String?, String?)
      var time_us: Int64?
      try scanner.members("position", depth: depth) { (scanner, key) throws(IngestProblem) in
        switch key {
        case "stream": stream = try scanner.text("position.stream", limit: Limit.cursor)
        case "cursor": cursor = try scanner.text("position.cursor", limit: Limit.cursor)
        case "time": time_us = try scanner.integer("position.time")
        default: try scanner.skip(depth: depth + 1)
        }
      }
      (self.stream, self.cursor, self.time_us) = (stream, cursor, time_us)
    }

    func position(sender: Host?) throws(IngestProblem) -> IncomingPosition {
      guard let stream, !stream.isEmpty else { throw IngestFields.missing("position.stream") }
      guard let cursor, !cursor.isEmpty else { throw IngestFields.missing("position.cursor") }
      if let time_us, !(0...Self.latest_us).contains(time_us) {
        throw IngestProblem(.invalid, "'position.time' must be in microseconds since 1970")
      }
      var position = IncomingPosition(host: try IngestFields.host(sender, nil), stream: stream, position: cursor)
      position.time_us = time_us
      return position
    }
  }
}

// The entry point for libFuzzer. An input is the body of a batch: the reports that crash-forward sends to crash-fleet
// in one request. scripts/fuzz/readers builds this target together with the parser of crash-fleet.
internal import CrashReport

/// Parses a body.
///
/// A trap, a finding of a sanitizer or a failed precondition ends the process.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzIngestParser(_ data: UnsafePointer<UInt8>, _ count: Int) -> Int32 {
  let input = Array(UnsafeBufferPointer(start: data, count: count))
  do throws(IngestProblem) {
    let items = try IngestParser().parse(input)
    precondition(items.count <= input.count)
    for item in items { check(item, within: input) }
  } catch {
    precondition(CleanText.line(error.description) == error.description)
  }
  compareSyntax(input)
  return 0
}

private func check(_ item: Result<IngestItem, IngestProblem>, within input: [UInt8]) {
  switch item {
  case .success(.report(let report)):
    precondition(report.body.first == UInt8(ascii: "{") && report.body.last == UInt8(ascii: "}"))
    precondition(report.time_us >= 0 && !report.group.key.isEmpty && !report.build.program.isEmpty)
    let texts = [
      report.host.name, report.build.program, report.build.build, report.group.key, report.group.title,
      report.group.cause, report.group.signal, report.unit ?? "", report.release ?? "", report.environment ?? "",
      report.route ?? "", report.group.coarse ?? "",
    ]
    for text in texts { precondition(text.utf8.count <= 1_024 && !text.utf8.contains(0)) }
  case .success(.count(let count)):
    precondition(count.run > 0 && count.crashes >= 0 && (0...70_389_000).contains(count.hour))
  case .success(.position(let position)):
    precondition(!position.stream.isEmpty && !position.position.isEmpty)
  case .success(.answer(let answer)):
    precondition(answer.ask > 0 && !answer.host.name.utf8.contains(0))
  case .failure(let problem):
    precondition(CleanText.line(problem.description) == problem.description)
  }
}

/// Any JSON value, of which only the syntax is checked.
private struct AnyJSON: JSONBuildable {
  static func json(null: Void) -> AnyJSON { AnyJSON() }
  static func json(bool: Bool) -> AnyJSON { AnyJSON() }
  static func json(integer: Int64) -> AnyJSON { AnyJSON() }
  static func json(double: Double) -> AnyJSON { AnyJSON() }
  static func json(string: String) -> AnyJSON { AnyJSON() }
  static func json(array: [AnyJSON]) -> AnyJSON { AnyJSON() }
  static func json(object: [String: AnyJSON]) -> AnyJSON { AnyJSON() }
}

/// Compares crash-fleet's scanner with crashd's JSON parser: the scanner must accept each input that the parser
/// accepts.
private func compareSyntax(_ input: [UInt8]) {
  guard !input.contains(UInt8(ascii: "\n")), (try? JSONParser<AnyJSON>.parse(input, depth: 60)) != nil else { return }
  let body = Array("{\"x\":".utf8) + input + [UInt8(ascii: "}")]
  guard case .failure(let problem)? = try? IngestParser().parse(body).first else {
    preconditionFailure("an item without a known member is accepted")
  }
  precondition(problem.code == .unknown, "the scanner refuses JSON: \(problem)")
}

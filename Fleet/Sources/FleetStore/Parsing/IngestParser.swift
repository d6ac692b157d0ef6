/// Parses the body of a batch: one JSON object per line (NDJSON), or one JSON array of objects.
///
/// Every byte is untrusted. In NDJSON, a malformed line does not affect other lines.
public struct IngestParser: Sendable {
  /// The limits of a body.
  public struct Limits: Sendable, Equatable {
    /// The maximum number of items.
    public var items = 10_000
    /// The maximum size of an item in bytes.
    public var itemBytes = 2 << 20

    /// Creates the default limits.
    public init() {}
  }

  private let limits: Limits

  /// Creates a parser.
  public init(_ limits: Limits = Limits()) { self.limits = limits }

  /// Parses a body.
  ///
  /// The result has one element for each item, in order.
  ///
  /// - Throws: `IngestProblem` if the whole body is refused.
  public func parse(_ body: [UInt8]) throws(IngestProblem) -> [Result<IngestItem, IngestProblem>] {
    let ranges = try ranges(of: body)
    return ranges.map { range in
      do throws(IngestProblem) { return .success(try item(body, range)) } catch { return .failure(error) }
    }
  }

  private func ranges(of body: [UInt8]) throws(IngestProblem) -> [Range<Int>] {
    var scanner = JSONScanner(body, 0..<body.count)
    scanner.skipSpace()
    let limit = limits.items
    var ranges: [Range<Int>] = []
    func add(_ range: Range<Int>) throws(IngestProblem) {
      guard ranges.count < limit else { throw IngestProblem(.tooMany, "a body may have at most \(limit) items") }
      ranges.append(range)
    }
    if scanner.offset < body.count, body[scanner.offset] == UInt8(ascii: "[") {
      try scanner.elements { (scanner) throws(IngestProblem) in
        let start = scanner.offset
        try scanner.skip(depth: 1)
        try add(start..<scanner.offset)
      }
      try scanner.finish()
      return ranges
    }
    var start = 0
    while start < body.count {
      let end = body[start...].firstIndex(of: UInt8(ascii: "\n")) ?? body.count
      // A blank line is not an item.
      if !body[start..<end].allSatisfy({ $0 == 0x20 || $0 == 0x09 || $0 == 0x0d }) { try add(start..<end) }
      start = end + 1
    }
    return ranges
  }

  private func item(_ body: [UInt8], _ range: Range<Int>) throws(IngestProblem) -> IngestItem {
    guard range.count <= limits.itemBytes else {
      throw IngestProblem(.tooLarge, "an item may have at most \(limits.itemBytes >> 10) KiB, not \(range.count >> 10)")
    }
    var scanner = JSONScanner(body, range)
    var fields = IngestFields()
    try scanner.members("item", depth: 0) { (scanner, key) throws(IngestProblem) in
      switch key {
      case "host": fields.host = try .init(&scanner, depth: 1)
      case "revision": fields.revision = try scanner.integer("revision")
      case "report":
        scanner.skipSpace()
        let start = scanner.offset
        fields.report = try .init(&scanner, depth: 1)
        fields.body = start..<scanner.offset
      case "count": fields.count = try .init(&scanner, depth: 1)
      case "position": fields.position = try .init(&scanner, depth: 1)
      case "answer": fields.answer = try .init(&scanner, depth: 1)
      default: try scanner.skip(depth: 1)
      }
    }
    try scanner.finish()
    return try fields.item(in: body)
  }
}

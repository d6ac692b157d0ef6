import FleetStore

/// The response to a batch: the outcome of each item after the commit.
struct FleetReply {
  /// The maximum number of refused items that the response lists, because clients read only its beginning.
  private static let namedRefusals = 16
  /// The maximum size of the response with asks.
  ///
  /// Forwarders read 4 KiB of a response, and would send the batch again if its end were missing. A response without
  /// asks is never larger than this.
  static let limitBytes = 4_096

  /// The number of items by outcome.
  ///
  /// `refused` includes the items of all codes.
  private(set) var counts: [String: Int] = [:]
  /// One JSON object.
  private(set) var json: String

  /// - Parameters:
  ///   - items: The parsed items of the batch.
  ///   - outcomes: The outcomes of the items that could be parsed.
  ///   - asks: The open asks of the tenant as a JSON array; nil if there are none.
  init(_ items: [Result<IngestItem, IngestProblem>], _ outcomes: [IngestOutcome], asks: String? = nil) {
    var (entries, next): ([String], Int) = ([], 0)
    for (at, item) in items.enumerated() {
      switch item {
      case .success:
        counts[outcomes[next].rawValue, default: 0] += 1
        next += 1
      case .failure(let problem):
        counts["refused", default: 0] += 1
        if entries.count == Self.namedRefusals { continue }
        entries.append(
          "{\"item\":\(at),\"code\":\"\(problem.code.rawValue)\",\"message\":\(Self.quoted(problem.description))}")
      }
    }
    let numbers = counts.sorted { $0.key < $1.key }.map { "\"\($0.key)\":\($0.value)" }.joined(separator: ",")
    json = "{\"committed\":true,\"items\":{\(numbers)},\"refused\":[\(entries.joined(separator: ","))]"
    // If the asks do not fit, the response to a later batch with fewer refusals contains them.
    if let asks, json.utf8.count + asks.utf8.count + 16 <= Self.limitBytes { json += ",\"asks\":\(asks)" }
    json += "}\n"
  }

  /// Quotes a string for JSON.
  static func quoted(_ text: String) -> String {
    var quoted = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"", "\\": quoted += "\\\(scalar)"
      case "\u{0}"..<" ":
        let digits = String(scalar.value, radix: 16)
        quoted += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: quoted.unicodeScalars.append(scalar)
      }
    }
    return quoted + "\""
  }
}

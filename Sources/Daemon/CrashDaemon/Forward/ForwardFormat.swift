import CrashProtocol
import CrashReport
import CrashStore
import FoundationEssentials
import NIOCore

/// Encodes the events that crashd sends to a collector, and decodes the collector's answers.
struct ForwardFormat {
  private struct Line: Encodable {
    var cursor: String
    var id: String
    var lost: Int?
    var report: JSONValue
  }

  private struct Call: Encodable {
    var method = "io.crashshield.Collector.Report"
    var parameters: Line
  }

  /// A decoded answer of a collector.
  enum Answer: Equatable {
    /// The collector acknowledges all events up to the given cursor.
    case has(StoreCursor)
    /// The collector acknowledges the oldest unacknowledged event.
    case hasNext
    /// The collector rejects an event for the given reason.
    case refused(String)
    case unintelligible
  }

  let format: ForwardSettings.Format

  /// The byte that ends each message to the collector and each answer of the collector.
  var separator: UInt8 { format == .jsonl ? UInt8(ascii: "\n") : 0 }

  /// Returns the message that sends an event to the collector.
  ///
  /// `lost` is the number of events between the previous event and this event that the collector does not get, because
  /// crashd removed them or cannot read them.
  func message(_ event: StoredReport, _ report: JSONValue, lost: Int) throws -> ByteBuffer {
    let line = Line(
      cursor: event.cursor.description, id: event.id, lost: lost > 0 ? lost : nil, report: report)
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.withoutEscapingSlashes, .sortedKeys]
    let json = try format == .jsonl ? encoder.encode(line) : encoder.encode(Call(parameters: line))
    var buffer = ByteBuffer()
    buffer.reserveCapacity(json.count + 1)
    buffer.writeBytes(json)
    buffer.writeInteger(separator)
    return buffer
  }

  func answer(_ frame: [UInt8], in epoch: StoreEpoch) -> Answer {
    guard let json = JSONValue.members(of: frame, depth: VarlinkCall.depth) else { return .unintelligible }
    switch format {
    case .jsonl:
      guard case .string(let text)? = json["ack"], let cursor = StoreCursor(text, of: epoch) else {
        return .unintelligible
      }
      return .has(cursor)
    case .varlink:
      if case .string(let error)? = json["error"] { return .refused(String(error.prefix(128))) }
      return .hasNext
    }
  }
}

public import CrashReport

/// A report, both decoded and as the received JSON.
public struct ReceivedReport: Decodable, Sendable, Equatable {
  /// The decoded report, without fields that this version does not define.
  public var report: CrashReport
  /// The received JSON, including keys of later versions.
  public var json: JSONValue

  /// Decodes the report, and keeps the received JSON.
  /// - Throws: `DecodingError` if the JSON is not a report.
  public init(from decoder: any Decoder) throws {
    report = try CrashReport(from: decoder)
    json = try JSONValue(from: decoder)
  }
}

/// The reply of `Get`.
///
/// crashd encodes the report as a `JSONFragment`, and a client decodes it as a `ReceivedReport`.
package struct GetReply<Report: Sendable>: Sendable {
  package var report: Report
  /// The raw record in base64.
  package var raw: String?
  package var stacks: [RecordedStack]?

  package init(report: Report, raw: String? = nil, stacks: [RecordedStack]? = nil) {
    (self.report, self.raw, self.stacks) = (report, raw, stacks)
  }
}

extension GetReply: Encodable where Report: Encodable {}
extension GetReply: Decodable where Report: Decodable {}

/// The reply of `Reanalyse`.
public struct ReanalyseReply<Report: Sendable>: Sendable {
  /// The report after crashd analyzed it again.
  public var report: Report
  /// Whether the new analysis changed the report.
  public var changed: Bool

  package init(report: Report, changed: Bool) { (self.report, self.changed) = (report, changed) }
}

extension ReanalyseReply: Encodable where Report: Encodable {}
extension ReanalyseReply: Decodable where Report: Decodable {}
extension ReanalyseReply: Equatable where Report: Equatable {}

/// A report after crashd analyzed it again, and whether this analysis changed the report.
public typealias ReanalysedReport = ReanalyseReply<ReceivedReport>

/// The reply of `Import`.
public struct ImportedRecord: Codable, Sendable, Equatable {
  /// The id of the report.
  public var id: String
  /// Whether crashd stored the crash in this call; false if it already had the report.
  public var isNew: Bool

  package init(id: String, isNew: Bool) { (self.id, self.isNew) = (id, isNew) }
}

/// One reply of `Subscribe`.
///
/// The reply either states that the stream is ready, or contains an event. The report of an event has the same type as
/// in the reply of `Get`.
package struct SubscribeReply<Report: Sendable>: Sendable {
  package var ready: Bool?
  package var cursor: String?
  package var report: Report?
  /// The number of lost events since the previous reply: events that crashd removed before the subscriber read them, or
  /// that crashd cannot read.
  package var lost: Int?

  package init(ready: Bool? = nil, cursor: String? = nil, report: Report? = nil, lost: Int? = nil) {
    (self.ready, self.cursor, self.report, self.lost) = (ready, cursor, report, lost)
  }
}

extension SubscribeReply: Encodable where Report: Encodable {}
extension SubscribeReply: Decodable where Report: Decodable {}

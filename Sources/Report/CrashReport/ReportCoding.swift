internal import FoundationEssentials

/// Reports as JSON: the form that crashd stores and streams, and that `crashctl --json` prints.
public enum ReportCoding: Sendable {
  /// The report as JSON with sorted keys, on one line unless `pretty`.
  ///
  /// The text contains no control character but the line feeds of the pretty form, so it can be printed.
  /// - Throws: `EncodingError` when a number has no JSON form (`confidence` is not finite).
  public static func encode(_ report: CrashReport, pretty: Bool = false) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return CleanText.json(String(decoding: try encoder.encode(report), as: UTF8.self))
  }

  /// Reads a report; keys that this version does not know are ignored.
  /// - Throws: `DecodingError`, which names the key and the problem of its value.
  public static func decode(_ json: some Sequence<UInt8>) throws -> CrashReport {
    try JSONDecoder().decode(CrashReport.self, from: Data(json))
  }
}

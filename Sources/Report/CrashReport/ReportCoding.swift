internal import FoundationEssentials

/// Encodes and decodes reports as JSON, in the form that crashd stores and streams, and that `crashctl --json` prints.
public enum ReportCoding: Sendable {
  /// Encodes a report as JSON with sorted keys.
  ///
  /// The text is one line, unless `pretty` is true.
  ///
  /// The text is safe to print: it contains no control character, except the line feeds of the pretty form.
  /// - Throws: `EncodingError` if a number cannot be encoded as JSON (`confidence` is not finite).
  public static func encode(_ report: CrashReport, pretty: Bool = false) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return CleanText.json(String(decoding: try encoder.encode(report), as: UTF8.self))
  }

  /// Decodes a report.
  ///
  /// Unknown keys are ignored.
  /// - Throws: `DecodingError`, which contains the key and the problem of its value.
  public static func decode(_ json: some Sequence<UInt8>) throws -> CrashReport {
    try JSONDecoder().decode(CrashReport.self, from: Data(json))
  }
}

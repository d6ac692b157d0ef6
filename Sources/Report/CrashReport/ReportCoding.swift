internal import FoundationEssentials

/// Encodes reports as JSON, and decodes them.
///
/// crashd stores and streams this form, and `crashctl --json` prints it.
public enum ReportCoding: Sendable {
  /// Encodes a report as JSON with sorted keys.
  ///
  /// The JSON is one line, unless `pretty` is true.
  ///
  /// The JSON is safe to print, because it contains no control characters except the line feeds of the pretty form.
  /// - Throws: `EncodingError` if JSON cannot represent a number, because `confidence` is not finite.
  public static func encode(_ report: CrashReport, pretty: Bool = false) throws -> String {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    if pretty { encoder.outputFormatting.insert(.prettyPrinted) }
    return CleanText.json(String(decoding: try encoder.encode(report), as: UTF8.self))
  }

  /// Decodes a report from JSON.
  ///
  /// Unknown keys are ignored.
  /// - Throws: `DecodingError`, which states the key and the problem with its value.
  public static func decode(_ json: some Sequence<UInt8>) throws -> CrashReport {
    try JSONDecoder().decode(CrashReport.self, from: Data(json))
  }
}

/// Formats GNU build IDs.
///
/// GNU build IDs in hexadecimal digits identify symbol caches, unwind tables and debug files.
public enum BuildID: Sendable {
  /// Returns the bytes as lower-case hexadecimal digits, with two digits for each byte.
  public static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

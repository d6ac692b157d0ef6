/// Formats GNU build ids.
///
/// The strings are the keys of symbol caches, unwind tables and debug files.
public enum BuildID: Sendable {
  /// Returns the bytes as lower-case hexadecimal digits, two per byte.
  public static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

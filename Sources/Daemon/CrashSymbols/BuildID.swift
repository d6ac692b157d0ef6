/// GNU build ids as text: the key of symbol caches, unwind tables and debug files.
public enum BuildID: Sendable {
  /// Lower-case hexadecimal digits, two a byte.
  public static func text(_ bytes: some Sequence<UInt8>) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
  }
}

import CrashReport

/// A place in the order of all events of one store.
///
/// As text it is opaque to clients: the store's epoch, so that a cursor of a deleted store is recognised, and the
/// event's number.
public struct StoreCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Random for each store.
  public let epoch: String
  /// Rises with each event; 0 stands before the first.
  public let sequence: Int64

  /// Makes a cursor from its parts.
  public init(epoch: String, sequence: Int64) {
    self.epoch = epoch
    self.sequence = sequence
  }

  /// Reads the text form; nil when it is none.
  public init?(_ text: String) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, parts[0].count == Self.epochDigits, let sequence = Int64(parts[1]), sequence >= 0 else {
      return nil
    }
    self.init(epoch: String(parts[0]), sequence: sequence)
  }

  /// The text form.
  public var description: String { "\(epoch)-\(sequence)" }

  /// Orders events of one store.
  public static func < (left: StoreCursor, right: StoreCursor) -> Bool { left.sequence < right.sequence }

  static let epochDigits = 16

  static func randomEpoch() -> String {
    UInt64.random(in: .min ... .max).hexadecimal(digits: epochDigits)
  }
}

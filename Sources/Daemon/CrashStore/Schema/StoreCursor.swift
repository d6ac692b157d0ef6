/// A place in the order of all events of one store.
///
/// As text it is opaque to clients: the store's id, so that a cursor of a deleted store is recognised, and the event's
/// number, encrypted.
public struct StoreCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// Of the store.
  public let epoch: StoreEpoch
  /// Rises with each event; 0 stands before the first.
  public let sequence: Int64

  /// Makes a cursor from its parts.
  public init(epoch: StoreEpoch, sequence: Int64) {
    self.epoch = epoch
    self.sequence = sequence
  }

  /// Reads the text form; nil when it is none of this store's.
  public init?(_ text: String, of epoch: StoreEpoch) {
    guard let sequence = epoch.sequence(of: text) else { return nil }
    self.init(epoch: epoch, sequence: sequence)
  }

  /// The text form.
  public var description: String { epoch.text(of: sequence) }

  /// Orders events of one store.
  public static func < (left: StoreCursor, right: StoreCursor) -> Bool { left.sequence < right.sequence }
}

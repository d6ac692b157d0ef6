/// A place in the order of all events, or of all incidents, of one store.
///
/// As text it is opaque to clients: the store's id, so that a cursor of a deleted store is recognized, and the event's
/// number and kind, encrypted.
public struct StoreCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// What it orders: the cursor of one kind is none of the other.
  public enum Kind: Sendable { case event, incident }

  /// Of the store.
  public let epoch: StoreEpoch
  /// Rises with each event; 0 stands before the first.
  public let sequence: Int64
  /// What the number counts.
  public let kind: Kind

  /// Makes a cursor from its parts.
  public init(epoch: StoreEpoch, sequence: Int64, kind: Kind = .event) {
    self.epoch = epoch
    self.sequence = sequence
    self.kind = kind
  }

  /// Reads the text form; nil when it is none of this store's, or of the other kind.
  public init?(_ text: String, of epoch: StoreEpoch, kind: Kind = .event) {
    guard let sequence = epoch.sequence(of: text, kind) else { return nil }
    self.init(epoch: epoch, sequence: sequence, kind: kind)
  }

  /// The text form.
  public var description: String { epoch.text(of: sequence, kind) }

  /// Orders cursors of one kind of one store.
  public static func < (left: StoreCursor, right: StoreCursor) -> Bool { left.sequence < right.sequence }
}

/// A position in the order of all events, or of all incidents, of one store.
///
/// The text form is opaque to clients. It contains the id of the store, so that cursors of a deleted store are
/// recognized. It also contains the number and the kind in encrypted form.
public struct StoreCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The kind of entries that the cursor orders.
  ///
  /// A cursor of one kind is not valid for the other kind.
  public enum Kind: Sendable { case event, incident }

  /// The epoch of the store.
  public let epoch: StoreEpoch
  /// The number, which increases with each entry.
  ///
  /// 0 is before the first entry.
  public let sequence: Int64
  /// The kind of entries that the number counts.
  public let kind: Kind

  /// Creates a cursor from its parts.
  public init(epoch: StoreEpoch, sequence: Int64, kind: Kind = .event) {
    self.epoch = epoch
    self.sequence = sequence
    self.kind = kind
  }

  /// Parses the text form.
  ///
  /// Returns nil if the cursor belongs to another store or has the other kind.
  public init?(_ text: String, of epoch: StoreEpoch, kind: Kind = .event) {
    guard let sequence = epoch.sequence(of: text, kind) else { return nil }
    self.init(epoch: epoch, sequence: sequence, kind: kind)
  }

  /// The text form.
  public var description: String { epoch.text(of: sequence, kind) }

  /// Orders cursors of the same kind and store.
  public static func < (left: StoreCursor, right: StoreCursor) -> Bool { left.sequence < right.sequence }
}

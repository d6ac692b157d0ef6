/// A position in the order of all events, or of all incidents, of one store.
///
/// Clients must not interpret the string form. It contains the id of the store, so that cursors of a deleted store are
/// detected. It also contains the number and the kind, both encrypted.
public struct StoreCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The kind of entries whose order the cursor refers to.
  ///
  /// A cursor of one kind is invalid for the other kind.
  public enum Kind: Sendable { case event, incident }

  /// The epoch of the store that issued the cursor.
  public let epoch: StoreEpoch
  /// The number of the entry, which increases from entry to entry.
  ///
  /// A cursor with the number 0 is before the first entry.
  public let sequence: Int64
  /// The kind of entries that are numbered.
  public let kind: Kind

  /// Creates a cursor from its parts.
  public init(epoch: StoreEpoch, sequence: Int64, kind: Kind = .event) {
    self.epoch = epoch
    self.sequence = sequence
    self.kind = kind
  }

  /// Parses the string form of a cursor.
  ///
  /// Returns nil if the cursor belongs to another store or has the other kind.
  public init?(_ text: String, of epoch: StoreEpoch, kind: Kind = .event) {
    guard let sequence = epoch.sequence(of: text, kind) else { return nil }
    self.init(epoch: epoch, sequence: sequence, kind: kind)
  }

  /// The string form.
  public var description: String { epoch.text(of: sequence, kind) }

  /// Orders cursors of the same kind and the same store.
  public static func < (left: StoreCursor, right: StoreCursor) -> Bool { left.sequence < right.sequence }
}

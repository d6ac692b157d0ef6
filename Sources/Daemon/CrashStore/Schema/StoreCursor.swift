/// A position in the order of all events of a store, or in the order of all its incidents.
///
/// Clients must not interpret the string form of a cursor. The string contains the ID of the store, so that cursors of
/// a deleted store are detected. The string also contains the number and the kind of the cursor in encrypted form.
public struct StoreCursor: Sendable, Hashable, Comparable, CustomStringConvertible {
  /// The kind of entries between which the cursor is a position.
  ///
  /// A cursor of one kind is invalid for the other kind.
  public enum Kind: Sendable { case event, incident }

  /// The epoch (ID and key) of the store that issued the cursor.
  public let epoch: StoreEpoch
  /// The number of the event or incident; later entries have higher numbers.
  ///
  /// A cursor with the number 0 is the position before the first entry.
  public let sequence: Int64
  /// The kind of entries to which the number belongs.
  public let kind: Kind

  /// Creates a cursor from its parts.
  public init(epoch: StoreEpoch, sequence: Int64, kind: Kind = .event) {
    self.epoch = epoch
    self.sequence = sequence
    self.kind = kind
  }

  /// Parses the string form of a cursor.
  ///
  /// Returns nil if the cursor belongs to another store or is not of the given kind.
  public init?(_ text: String, of epoch: StoreEpoch, kind: Kind = .event) {
    guard let sequence = epoch.sequence(of: text, kind) else { return nil }
    self.init(epoch: epoch, sequence: sequence, kind: kind)
  }

  /// The string form of the cursor.
  public var description: String { epoch.text(of: sequence, kind) }

  /// Compares two cursors, which must be of the same kind and the same store.
  public static func < (left: StoreCursor, right: StoreCursor) -> Bool { left.sequence < right.sequence }
}

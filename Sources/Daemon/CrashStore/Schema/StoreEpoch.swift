import CrashReport
import GRDB

/// Identifies one store in its cursors, and encrypts the numbers in these cursors.
///
/// Each cursor contains the ID of the store, and the number, which is encrypted with the key.
///
/// Without encryption, the number would tell each client how many events all users have together.
public struct StoreEpoch: Sendable, Hashable, CustomStringConvertible {
  /// The ID of the store, which is random; empty if no store is open.
  let id: String
  /// The secret key of the store, which is random.
  private let key: SIMD4<UInt32>
  /// The last event number that an older crashd assigned while cursors were not encrypted.
  ///
  /// An unencrypted cursor contains the plain number. An unencrypted cursor is accepted only if its number is at most
  /// `plainThrough`.
  private let plainThrough: Int64

  /// The epoch that is used if no store is open.
  static let none = StoreEpoch(id: "")

  init(id: String, key: SIMD4<UInt32> = .zero, plainThrough: Int64 = 0) {
    (self.id, self.key, self.plainThrough) = (id, key, plainThrough)
  }

  /// The ID of the store.
  public var description: String { id }

  static let idDigits = 16
  private static let keyDigits = 32

  static func randomID() -> String { UInt64.random(in: .min ... .max).hexadecimal(digits: idDigits) }

  /// The bit that is set in the numbers of incidents before these numbers are encrypted.
  ///
  /// The bit is otherwise unused, because event numbers are never negative.
  private static let incidentBit = Int64.min

  func text(of sequence: Int64, _ kind: StoreCursor.Kind) -> String {
    let number = kind == .incident ? sequence | Self.incidentBit : sequence
    return "\(id).\(encrypted(UInt64(bitPattern: number)).hexadecimal(digits: Self.idDigits))"
  }

  /// Returns the number in the string form of a cursor.
  ///
  /// Returns nil if the cursor does not belong to this store or is of another kind.
  func sequence(of text: String, _ kind: StoreCursor.Kind) -> Int64? {
    guard text.hasPrefix(id), id.utf8.count == Self.idDigits else { return nil }
    let rest = text.dropFirst(id.count)
    var number: Int64?
    if rest.hasPrefix("."), rest.utf8.count == Self.idDigits + 1 {
      number = UInt64(rest.dropFirst(), radix: 16).map { Int64(bitPattern: decrypted($0)) }
    } else if kind == .event, rest.hasPrefix("-") {
      // Reject plain (unencrypted) numbers above `plainThrough`. Otherwise, a client could find the newest number by
      // trying plain cursors.
      number = Int64(rest.dropFirst()).flatMap { $0 <= plainThrough ? $0 : nil }
    }
    guard let number, (number < 0) == (kind == .incident) else { return nil }
    return number & ~Self.incidentBit
  }
}

// Implements XTEA, a published block cipher with 64-bit blocks that needs only a few lines of code.
extension StoreEpoch {
  private static let (rounds, delta) = (32, 0x9e37_79b9 as UInt32)

  private static func mix(_ half: UInt32, _ sum: UInt32, _ key: UInt32) -> UInt32 {
    ((half << 4 ^ half >> 5) &+ half) ^ (sum &+ key)
  }

  func encrypted(_ number: UInt64) -> UInt64 {
    var (first, second, sum) = (UInt32(number >> 32), UInt32(truncatingIfNeeded: number), 0 as UInt32)
    for _ in 0..<Self.rounds {
      first &+= Self.mix(second, sum, key[Int(sum & 3)])
      sum &+= Self.delta
      second &+= Self.mix(first, sum, key[Int(sum >> 11 & 3)])
    }
    return UInt64(first) << 32 | UInt64(second)
  }

  func decrypted(_ number: UInt64) -> UInt64 {
    var (first, second) = (UInt32(number >> 32), UInt32(truncatingIfNeeded: number))
    var sum = Self.delta &* UInt32(Self.rounds)
    for _ in 0..<Self.rounds {
      second &-= Self.mix(first, sum, key[Int(sum >> 11 & 3)])
      sum &-= Self.delta
      first &-= Self.mix(second, sum, key[Int(sum & 3)])
    }
    return UInt64(first) << 32 | UInt64(second)
  }
}

// Stores the epoch (the ID and the key for cursors) in the database.
extension StoreEpoch {
  private static let keys = (id: "epoch", key: "cursor-key", plainThrough: "plain-cursors")

  /// Returns the epoch of a database, and whether its key is new and must still be stored.
  ///
  /// Returns nil if the database has no epoch. The database of an older crashd has no key, because its cursors contain
  /// plain numbers.
  static func stored(in database: Database) throws -> (epoch: StoreEpoch, isNew: Bool)? {
    let value = { try String.fetchOne(database, sql: "SELECT value FROM meta WHERE key = ?", arguments: [$0]) }
    guard let id = try value(Self.keys.id), id.utf8.count == Self.idDigits else { return nil }
    let digits = try value(Self.keys.key).flatMap { $0.utf8.count == Self.keyDigits ? $0 : nil }
    let words = digits.map { digits in
      stride(from: 0, to: Self.keyDigits, by: 8).compactMap { UInt32(digits.dropFirst($0).prefix(8), radix: 16) }
    }
    guard let words, words.count == 4, let plain = try value(Self.keys.plainThrough).flatMap({ Int64($0) }) else {
      var random = SystemRandomNumberGenerator()
      let key = SIMD4<UInt32>((0..<4).map { _ in random.next() })
      return (StoreEpoch(id: id, key: key, plainThrough: try ReportStore.newestSequence(in: database)), true)
    }
    return (StoreEpoch(id: id, key: SIMD4(words), plainThrough: plain), false)
  }

  func write(to database: Database) throws {
    let digits = (0..<4).map { key[$0].hexadecimal(digits: 8) }.joined()
    for (name, value) in [
      (Self.keys.id, id), (Self.keys.key, digits), (Self.keys.plainThrough, "\(plainThrough)"),
    ] {
      try database.execute(
        sql: "INSERT INTO meta (key, value) VALUES (?, ?) ON CONFLICT DO UPDATE SET value = excluded.value",
        arguments: [name, value])
    }
  }

  /// Returns the epoch of a database, that is, the ID and the key of its cursors; stores the key if it is new.
  ///
  /// If storing the key fails, for example because the disk is full, the new key exists only in memory. In this case,
  /// cursors that this crashd issues are rejected after a restart.
  static func kept(in writer: any DatabaseWriter) throws -> StoreEpoch? {
    guard let (epoch, isNew) = try writer.read({ try stored(in: $0) }) else { return nil }
    guard isNew else { return epoch }
    do {
      try writer.write { try epoch.write(to: $0) }
    } catch let error as DatabaseError where [.SQLITE_FULL, .SQLITE_READONLY].contains(error.resultCode) {}
    return epoch
  }
}

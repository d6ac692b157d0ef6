import CrashReport

/// The owner of a row, as stored in columns named `uid`.
///
/// A row's owner may read the row.
///
/// For a process that had more privileges than its user, the key is the uid plus a bit that no uid has. Queries for
/// that uid therefore do not find the row. Within the user's share, such rows are counted separately from the user's
/// own rows. The user's own rows therefore cannot evict them.
enum OwnerKey {
  /// The bit that marks processes with more privileges than their user.
  static let restricted: Int64 = 1 << 32

  static func of(uid: Int, isRestricted: Bool?) -> Int64 {
    // Root can read everything, and is a single owner.
    isRestricted == true && uid != 0 ? Int64(uid) | restricted : Int64(uid)
  }

  static func isRestricted(_ key: Int64) -> Bool { key & restricted != 0 }

  /// Returns the uid in a key, for display.
  static func uid(_ key: Int64) -> Int { Int(key & ~restricted) }
}

extension CrashReport.ProcessIdentity {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

extension IncidentReport.Process {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

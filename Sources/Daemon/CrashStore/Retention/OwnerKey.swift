import CrashReport

/// The owner of a row, as stored in the columns named `uid`.
///
/// The owner of a row may read the row.
///
/// For a process with more privileges than its user, the key is the uid plus a bit that no uid contains. A query for
/// the uid alone therefore does not find such a row. The rows with this bit are counted as a separate owner within the
/// user's share. Therefore they cannot evict the user's own rows.
enum OwnerKey {
  /// The bit for processes that have more privileges than their user.
  static let restricted: Int64 = 1 << 32

  static func of(uid: Int, isRestricted: Bool?) -> Int64 {
    // Root can read everything, so root's processes always have the same owner key.
    isRestricted == true && uid != 0 ? Int64(uid) | restricted : Int64(uid)
  }

  static func isRestricted(_ key: Int64) -> Bool { key & restricted != 0 }

  /// Returns the uid that a key contains, for display.
  static func uid(_ key: Int64) -> Int { Int(key & ~restricted) }
}

extension CrashReport.ProcessIdentity {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

extension IncidentReport.Process {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

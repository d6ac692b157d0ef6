import CrashReport

/// The owner of a row, as stored in the columns named `uid`.
///
/// The owner of a row is the user who is allowed to read the row.
///
/// For a process with more privileges than its user, the key is the uid plus a bit that no uid contains. Therefore, a
/// query for the uid alone does not find the rows of this process. Rows with this bit are charged to the same user, but
/// belong to a separate owner. When rows are evicted, the user's part of the limit is divided between the two owners,
/// so the rows of one cannot displace all rows of the other.
enum OwnerKey {
  /// The bit that is set for processes with more privileges than their user.
  static let restricted: Int64 = 1 << 32

  static func of(uid: Int, isRestricted: Bool?) -> Int64 {
    // Root can read everything, so the key of root's processes never contains the bit.
    isRestricted == true && uid != 0 ? Int64(uid) | restricted : Int64(uid)
  }

  static func isRestricted(_ key: Int64) -> Bool { key & restricted != 0 }

  /// Returns the uid that an owner key contains.
  static func uid(_ key: Int64) -> Int { Int(key & ~restricted) }
}

extension CrashReport.ProcessIdentity {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

extension IncidentReport.Process {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

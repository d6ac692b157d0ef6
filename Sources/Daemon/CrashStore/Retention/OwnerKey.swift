import CrashReport

/// The owner of a row, as the columns `uid` hold it; a row's owner may read it.
///
/// A report of a process that had more rights than its user has the uid and a bit that no uid has. So a reader of that uid
/// does not find it, it counts toward no user's share, and its user cannot evict what root keeps.
enum OwnerKey {
  /// The bit.
  static let restricted: Int64 = 1 << 32

  static func of(uid: Int, isRestricted: Bool?) -> Int64 {
    // Root sees everything, and is one owner.
    isRestricted == true && uid != 0 ? Int64(uid) | restricted : Int64(uid)
  }

  static func isRestricted(_ key: Int64) -> Bool { key & restricted != 0 }

  /// The uid in a key, to be shown.
  static func uid(_ key: Int64) -> Int { Int(key & ~restricted) }
}

extension CrashReport.ProcessIdentity {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

extension IncidentReport.Process {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

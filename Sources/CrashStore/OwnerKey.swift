import CrashReport

/// What stands in the columns `uid`: whose a report is, and by that who may see it.
///
/// A report of a process that had more rights than its user stands under the uid and a bit that no uid has. So a reader of
/// that uid does not find it, it counts as nobody else's, and its user cannot push out what root keeps.
enum OwnerKey {
  private static let restricted: Int64 = 1 << 32

  static func of(uid: Int, isRestricted: Bool?) -> Int64 {
    // Root sees everything, and is one owner.
    isRestricted == true && uid != 0 ? Int64(uid) | restricted : Int64(uid)
  }

  /// The uid in a key, to be shown.
  static func uid(_ key: Int64) -> Int { Int(key & ~restricted) }
}

extension CrashReport.ProcessIdentity {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

extension IncidentReport.Process {
  var ownerKey: Int64 { OwnerKey.of(uid: uid, isRestricted: isRestricted) }
}

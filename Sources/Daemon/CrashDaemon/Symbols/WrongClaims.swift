/// Counts build ids that turned out to be wrong for a file.
///
/// An image has exactly one build id.
///
/// Counts are kept per account, so that false claims of one user cannot block the images of another user.
struct WrongClaims {
  /// A file, and the account that claims its build id.
  struct Claim: Hashable {
    var account: UInt32
    var file: ImageFile.Identity
  }

  /// How many wrong build ids an account may claim for one file.
  ///
  /// Two are allowed, because the file may be replaced once.
  private static let limit = 2

  /// The maximum number of remembered claims.
  private let most: Int
  private var wrong: [Claim: Set<String>] = [:]

  init(most: Int) { self.most = most }

  /// Whether a file may be read for this build id, given the build ids in `begun` of waiting or running jobs with the
  /// same claim.
  func admit(_ buildID: String, of claim: Claim, beside begun: Set<String>) -> Bool {
    let known = wrong[claim] ?? []
    return !known.contains(buildID) && known.union(begun).subtracting([buildID]).count < Self.limit
  }

  /// Records that a file does not have a build id.
  mutating func note(_ buildID: String, of claim: Claim) {
    if wrong.count >= most { wrong = [:] }
    wrong[claim, default: []].insert(buildID)
  }

  /// Forgets the wrong claims for a file, because the file turned out to be an image.
  mutating func forget(_ claim: Claim) { wrong[claim] = nil }
}

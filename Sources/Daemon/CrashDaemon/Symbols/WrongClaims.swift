/// Counts build ids that turned out wrong for a file; an image has exactly one.
///
/// By account, so that no user's false claims keep another's images from being read.
struct WrongClaims {
  /// A file, and the account that claims its build id.
  struct Claim: Hashable {
    var account: UInt32
    var file: ImageFile.Identity
  }

  /// How many build ids of one file an account may get wrong: one before and one after the file was replaced.
  private static let limit = 2

  /// The limit of remembered claims.
  private let most: Int
  private var wrong: [Claim: Set<String>] = [:]

  init(most: Int) { self.most = most }

  /// Whether a file may be read for a build id, beside the waiting or running jobs of that claim for those of `begun`.
  func admit(_ buildID: String, of claim: Claim, beside begun: Set<String>) -> Bool {
    let known = wrong[claim] ?? []
    return !known.contains(buildID) && known.union(begun).subtracting([buildID]).count < Self.limit
  }

  /// Records that a file does not have a build id.
  mutating func note(_ buildID: String, of claim: Claim) {
    if wrong.count >= most { wrong = [:] }
    wrong[claim, default: []].insert(buildID)
  }

  /// Forgets the wrong claims of a file that has turned out to be an image.
  mutating func forget(_ claim: Claim) { wrong[claim] = nil }
}

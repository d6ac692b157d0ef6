/// Remembers build ids that users claimed for a file that does not have them.
///
/// An image has exactly one build id, so crashd limits how many wrong claims it checks for one file.
///
/// Claims are kept per account, so that false claims of one user cannot block the images of another user.
struct WrongClaims {
  /// A file, and the account that claimed a build id for it.
  struct Claim: Hashable {
    var account: UInt32
    var file: ImageFile.Identity
  }

  /// The number of different build ids that an account may claim for one file.
  ///
  /// The limit is two, because the file may legitimately be replaced once.
  private static let limit = 2

  /// The maximum number of claims to remember.
  private let most: Int
  private var wrong: [Claim: Set<String>] = [:]

  init(most: Int) { self.most = most }

  /// Whether a file may be read for this build id.
  ///
  /// `begun` has the build ids of waiting or running jobs for the same claim.
  func admit(_ buildID: String, of claim: Claim, beside begun: Set<String>) -> Bool {
    let known = wrong[claim] ?? []
    return !known.contains(buildID) && known.union(begun).subtracting([buildID]).count < Self.limit
  }

  /// Records that a file does not have the claimed build id.
  mutating func note(_ buildID: String, of claim: Claim) {
    if wrong.count >= most { wrong = [:] }
    wrong[claim, default: []].insert(buildID)
  }

  /// Removes the wrong claims for a file, because the file turned out to be an image.
  mutating func forget(_ claim: Claim) { wrong[claim] = nil }
}

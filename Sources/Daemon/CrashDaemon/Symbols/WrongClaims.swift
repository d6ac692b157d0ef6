/// Which build ids of a file came to nothing: an image has one.
///
/// By account, so that no user's inventions keep another's images from being read.
struct WrongClaims {
  /// A file, and the account that says what it is.
  struct Claim: Hashable {
    var account: UInt32
    var file: ImageFile.Identity
  }

  /// How many build ids of one file an account may get wrong: one of before and one of after the file was replaced.
  private static let limit = 2

  /// Claims that are remembered.
  private let most: Int
  private var wrong: [Claim: Set<String>] = [:]

  init(most: Int) { self.most = most }

  /// Whether a file is read for a build id, where jobs of that claim wait or run for those of `begun`.
  func admit(_ buildID: String, of claim: Claim, beside begun: Set<String>) -> Bool {
    let known = wrong[claim] ?? []
    return !known.contains(buildID) && known.union(begun).subtracting([buildID]).count < Self.limit
  }

  /// Notes that a file does not have a build id.
  mutating func note(_ buildID: String, of claim: Claim) {
    if wrong.count >= most { wrong = [:] }
    wrong[claim, default: []].insert(buildID)
  }

  /// Forgets what was wrong of a file that has turned out to be an image.
  mutating func forget(_ claim: Claim) { wrong[claim] = nil }
}

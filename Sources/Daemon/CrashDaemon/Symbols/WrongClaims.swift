/// Remembers build IDs that users claimed for a file, although the file has another build ID.
///
/// An image has exactly one build ID, so crashd limits for how many wrong build IDs it checks one file.
///
/// Claims are stored for each account, so that false claims of one user cannot block the images of another user.
struct WrongClaims {
  /// A file, and the account that claimed a build ID for it.
  struct Claim: Hashable {
    var account: UInt32
    var file: ImageFile.Identity
  }

  /// The maximum number of different build IDs that an account is allowed to claim for one file.
  ///
  /// The maximum is two, because an update can replace the file once while processes use it.
  private static let limit = 2

  /// The maximum number of claims that are remembered.
  private let most: Int
  private var wrong: [Claim: Set<String>] = [:]

  init(most: Int) { self.most = most }

  /// Whether crashd is allowed to read the file of a claim in order to check the given build ID.
  ///
  /// The parameter `begun` contains the build IDs of waiting or running jobs for the same claim.
  func admit(_ buildID: String, of claim: Claim, beside begun: Set<String>) -> Bool {
    let known = wrong[claim] ?? []
    return !known.contains(buildID) && known.union(begun).subtracting([buildID]).count < Self.limit
  }

  /// Records that the file of a claim does not have the given build ID.
  mutating func note(_ buildID: String, of claim: Claim) {
    if wrong.count >= most { wrong = [:] }
    wrong[claim, default: []].insert(buildID)
  }

  /// Forgets the wrong build IDs of a claim, because crashd has built a cache from the file.
  mutating func forget(_ claim: Claim) { wrong[claim] = nil }
}

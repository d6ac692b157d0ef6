/// The customers of the shop.
struct UserDirectory: Sendable {
  struct User: Sendable {
    var name: String
    var email: String?
  }

  private let users: [Int: User] = [
    3: User(name: "Ada", email: "ada@example.com"),
    7: User(name: "Grace", email: nil),
  ]

  /// Returns the addresses that receive the newsletter.
  func newsletterRecipients(of numbers: [Int]) -> [String] {
    numbers.compactMap { users[$0] }.map { user in
      // BUG, for the demo: some users have no address.
      // swift-format-ignore: NeverForceUnwrap
      "\(user.name) <\(user.email!)>"  // fault: force-unwrap
    }
  }
}

/// Who buys here.
struct UserDirectory: Sendable {
  struct User: Sendable {
    var name: String
    var email: String?
  }

  private let users: [Int: User] = [
    3: User(name: "Ada", email: "ada@example.com"),
    7: User(name: "Grace", email: nil),
  ]

  /// The addresses to which the newsletter goes.
  func newsletterRecipients(of numbers: [Int]) -> [String] {
    numbers.compactMap { users[$0] }.map { user in
      // BUG, for the demo: not every user has left an address.
      // swift-format-ignore: NeverForceUnwrap
      "\(user.name) <\(user.email!)>"  // fault: force-unwrap
    }
  }
}

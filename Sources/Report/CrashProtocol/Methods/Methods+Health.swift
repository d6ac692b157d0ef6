// Defines the method that returns the health of builds.
extension Methods {
  static let ofHealth: [any Method.Type] = [Health.self]

  package enum Health: Method {
    package struct Parameters: Codable, Sendable {
      package var name: String?
      package var since: String?
      package var build: String?
      package var against: String?

      package init(name: String? = nil, since: String? = nil, build: String? = nil, against: String? = nil) {
        (self.name, self.since, self.build, self.against) = (name, since, build, against)
      }
    }

    package typealias Reply = HealthReport
  }
}

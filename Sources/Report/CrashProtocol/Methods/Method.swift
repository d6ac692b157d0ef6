/// A method of crashd's interface: what it takes, and what it returns.
///
/// The type's name is the method's. Which reports a caller sees and changes is no part of it: that goes by the uid of each.
package protocol Method: Sendable {
  /// Written by the client, read by crashd; keys beside these are refused.
  associatedtype Parameters: Codable & Sendable = NoParameters
  /// What the client reads.
  associatedtype Reply: Decodable & Sendable
  /// What crashd writes: the same, but for reports, which a client also keeps as JSON.
  associatedtype Sent: Encodable & Sendable = Reply
}

extension Method {
  /// Such as `List`.
  package static var name: String { String(describing: Self.self) }
}

/// The methods of `io.crashshield.Crashd`; the interface file explains each.
///
/// A call with several mistakes names one parameter: first one that is unknown, then one that is missing or of a wrong
/// type, in the order of `Parameters`, then one whose value is out of range.
package enum Methods {
  /// The interface's name.
  package static let interface = "io.crashshield.Crashd"

  /// All of them; each file names its own.
  package static let all: [any Method.Type] = ofReports + ofIncidents + ofSubscribers + ofService
}

/// Parameters of two types whose keys stand side by side in one object.
package struct Joined<Own: Codable & Sendable, Shared: Codable & Sendable>: Codable, Sendable {
  package var own: Own
  package var shared: Shared

  package init(_ own: Own, _ shared: Shared) { (self.own, self.shared) = (own, shared) }

  package init(from decoder: any Decoder) throws {
    own = try Own(from: decoder)
    shared = try Shared(from: decoder)
  }

  package func encode(to encoder: any Encoder) throws {
    try own.encode(to: encoder)
    try shared.encode(to: encoder)
  }
}

/// A part of a program's name, or its whole path; nil: all programs.
package struct OptionalName: Codable, Sendable {
  package var name: String?

  package init(name: String?) { self.name = name }
}

/// How a report's id begins; nil: the newest.
package struct OptionalID: Codable, Sendable {
  package var id: String?

  package init(id: String?) { self.id = id }
}

/// A subscriber; without a uid the caller's.
package struct SubscriberName: Codable, Sendable {
  package var subscriber: String
  package var uid: Int?

  package init(subscriber: String, uid: Int?) { (self.subscriber, self.uid) = (subscriber, uid) }
}

/// A value of which only its sender knows the type.
package struct Erased: Encodable, Sendable {
  private let value: any Encodable & Sendable

  package init(_ value: any Encodable & Sendable) { self.value = value }

  package func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

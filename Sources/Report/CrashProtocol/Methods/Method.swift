/// A method of crashd's interface: its parameters and its reply.
///
/// The type's name is the method's. The uid of each caller decides which reports it sees and changes.
package protocol Method: Sendable {
  /// Written by the client, read by crashd; other keys are refused.
  associatedtype Parameters: Codable & Sendable = NoParameters
  /// The client's type of the reply.
  associatedtype Reply: Decodable & Sendable
  /// crashd's type of the reply: the same, except for reports, which a client also keeps as JSON.
  associatedtype Sent: Encodable & Sendable = Reply
}

extension Method {
  /// Such as `List`.
  package static var name: String { String(describing: Self.self) }
}

/// The methods of `io.crashshield.Crashd`; the interface file explains each.
///
/// A call with several mistakes names one parameter: first an unknown one, then one that is missing or of a wrong type,
/// in the order of `Parameters`, then one with a value out of range.
package enum Methods {
  /// The interface's name.
  package static let interface = "io.crashshield.Crashd"

  /// All methods; each file lists its own.
  package static let all: [any Method.Type] = ofReports + ofIncidents + ofSubscribers + ofService
}

/// Two types of parameters whose keys are side by side in one object.
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

/// The beginning of a report's id; nil: the newest report.
package struct OptionalID: Codable, Sendable {
  package var id: String?

  package init(id: String?) { self.id = id }
}

/// A subscriber's name; without a uid it is the caller's.
package struct SubscriberName: Codable, Sendable {
  package var subscriber: String
  package var uid: Int?

  package init(subscriber: String, uid: Int?) { (self.subscriber, self.uid) = (subscriber, uid) }
}

/// A value of a type that only the sender knows.
package struct Erased: Encodable, Sendable {
  private let value: any Encodable & Sendable

  package init(_ value: any Encodable & Sendable) { self.value = value }

  package func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

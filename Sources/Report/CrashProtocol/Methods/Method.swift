/// A method of crashd's interface: its parameters and its reply.
///
/// The name of the type is the name of the method. The uid of a caller determines which reports it can read and change.
package protocol Method: Sendable {
  /// The parameters, which the client encodes and crashd decodes. crashd refuses other keys.
  associatedtype Parameters: Codable & Sendable = NoParameters
  /// The type as which the client decodes the reply.
  associatedtype Reply: Decodable & Sendable
  /// The type as which crashd encodes the reply. It differs for reports, which a client also keeps as JSON.
  associatedtype Sent: Encodable & Sendable = Reply
}

extension Method {
  /// The name, such as `List`.
  package static var name: String { String(describing: Self.self) }
}

/// The methods of `io.crashshield.Crashd`, which the interface file explains.
///
/// If a call has several errors, the reply names one parameter. Unknown parameters come first. Missing parameters and
/// parameters of a wrong type follow, in the order of `Parameters`. Values out of range come last.
package enum Methods {
  /// The interface's name.
  package static let interface = "io.crashshield.Crashd"

  /// All methods.
  ///
  /// Each file lists its own methods.
  package static let all: [any Method.Type] = ofReports + ofIncidents + ofSubscribers + ofService
}

/// Two types of parameters whose keys are in the same object.
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

/// A part of a program's name, or its whole path.
///
/// Nil selects all programs.
package struct OptionalName: Codable, Sendable {
  package var name: String?

  package init(name: String?) { self.name = name }
}

/// The first digits of a report's id.
///
/// Nil selects the newest report.
package struct OptionalID: Codable, Sendable {
  package var id: String?

  package init(id: String?) { self.id = id }
}

/// The name of a subscriber.
///
/// Without a uid the subscriber belongs to the caller.
package struct SubscriberName: Codable, Sendable {
  package var subscriber: String
  package var uid: Int?

  package init(subscriber: String, uid: Int?) { (self.subscriber, self.uid) = (subscriber, uid) }
}

/// A value whose type only the sender can name.
package struct Erased: Encodable, Sendable {
  private let value: any Encodable & Sendable

  package init(_ value: any Encodable & Sendable) { self.value = value }

  package func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

/// A method of crashd's interface, with the types of its parameters and its reply.
///
/// The name of the conforming type is the Varlink name of the method. The caller's uid determines which reports the
/// method can read and change.
package protocol Method: Sendable {
  /// The parameters, which the client encodes and crashd decodes. crashd refuses calls with other keys.
  associatedtype Parameters: Codable & Sendable = NoParameters
  /// The type that the client decodes from the reply.
  associatedtype Reply: Decodable & Sendable
  /// The type that crashd encodes as the reply. `Sent` differs from `Reply` for reports, because a client also keeps
  /// the received JSON.
  associatedtype Sent: Encodable & Sendable = Reply
}

extension Method {
  /// The name of the method, such as `List`.
  package static var name: String { String(describing: Self.self) }
}

/// The methods of `io.crashshield.Crashd`.
///
/// The Varlink interface file explains the methods. If several parameters of a call are invalid, the error names only
/// one of them. Unknown parameters are reported first. Next are missing parameters and parameters of a wrong type, in
/// the order of `Parameters`. Values out of range are reported last.
package enum Methods {
  /// The name of the interface.
  package static let interface = "io.crashshield.Crashd"

  /// All methods.
  ///
  /// Each `Methods+….swift` file contains the list of the methods that the file defines.
  package static let all: [any Method.Type] = ofReports + ofIncidents + ofSubscribers + ofService + ofHealth
}

/// Combines two parameter types whose keys are in the same JSON object.
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

/// A part of a program's name, or the whole path of its executable.
///
/// Nil selects all programs.
package struct OptionalName: Codable, Sendable {
  package var name: String?

  package init(name: String?) { self.name = name }
}

/// The first digits of a report's id.
///
/// If the value is nil, the newest report is selected.
package struct OptionalID: Codable, Sendable {
  package var id: String?

  package init(id: String?) { self.id = id }
}

/// The name of a subscriber, and the uid of its owner.
///
/// If the uid is nil, the subscriber belongs to the caller.
package struct SubscriberName: Codable, Sendable {
  package var subscriber: String
  package var uid: Int?

  package init(subscriber: String, uid: Int?) { (self.subscriber, self.uid) = (subscriber, uid) }
}

/// An encodable value of any type, for code that sends calls with parameters of several types.
package struct Erased: Encodable, Sendable {
  private let value: any Encodable & Sendable

  package init(_ value: any Encodable & Sendable) { self.value = value }

  package func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
}

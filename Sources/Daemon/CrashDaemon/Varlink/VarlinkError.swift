import CrashStore

/// An error reply.
struct VarlinkError: Error, Sendable, Equatable {
  var name: String
  var parameters: [String: JSONValue] = [:]

  static func invalidParameter(_ name: String) -> VarlinkError {
    VarlinkError(name: "org.varlink.service.InvalidParameter", parameters: ["parameter": .string(name)])
  }

  static func methodNotFound(_ method: String) -> VarlinkError {
    VarlinkError(name: "org.varlink.service.MethodNotFound", parameters: ["method": .string(method)])
  }

  static func methodNotImplemented(_ method: String) -> VarlinkError {
    VarlinkError(name: "org.varlink.service.MethodNotImplemented", parameters: ["method": .string(method)])
  }

  static func interfaceNotFound(_ interface: String) -> VarlinkError {
    VarlinkError(name: "org.varlink.service.InterfaceNotFound", parameters: ["interface": .string(interface)])
  }

  /// The method has many replies, and the call did not ask for them.
  static let expectedMore = VarlinkError(name: "org.varlink.service.ExpectedMore")

  static func subscriberInUse(_ name: String) -> VarlinkError {
    VarlinkError(own: "SubscriberInUse", ["subscriber": .string(String(name.prefix(128)))])
  }

  static func storeUnavailable(_ reason: String) -> VarlinkError {
    VarlinkError(own: "StoreUnavailable", ["reason": .string(reason)])
  }

  static func noSuchService(_ name: String) -> VarlinkError {
    VarlinkError(own: "NoSuchService", ["name": .string(String(name.prefix(128)))])
  }

  /// The only reply of a connection that is closed at once.
  static func tooManyClients(limit: Int) -> VarlinkError {
    VarlinkError(own: "TooManyClients", ["limit": .int(Int64(limit))])
  }

  static func tooManyClasses(limit: Int) -> VarlinkError {
    VarlinkError(own: "TooManyClasses", ["limit": .int(Int64(limit))])
  }

  /// What the store said, in the words of the interface.
  init(_ error: StoreError) {
    switch error {
    case .noSuchReport(let id): self.init(own: "NoSuchReport", ["id": .string(id)])
    case .ambiguous(let id, let count):
      self.init(own: "AmbiguousID", ["id": .string(id), "count": .int(Int64(count))])
    case .noSuchGroup(let key): self.init(own: "NoSuchGroup", ["key": .string(key)])
    case .noSuchSubscriber(let name): self.init(own: "NoSuchSubscriber", ["subscriber": .string(name)])
    case .tooManySubscribers(let limit): self.init(own: "TooManySubscribers", ["limit": .int(Int64(limit))])
    case .invalidCursor(let text): self.init(own: "InvalidCursor", ["cursor": .string(text)])
    case .notADatabase, .corrupt, .tooNew, .unavailable, .unreadable, .identifierTaken, .changedMeanwhile:
      self.init(own: "StoreUnavailable", ["reason": .string(error.description)])
    }
  }

  /// Why a report was not analysed again.
  init(_ failure: Reanalysis.Failure) {
    let reason: String
    switch failure {
    case .store(let error):
      self.init(error)
      return
    case .unreadable(let why): reason = why
    case .symbolsGone(let builds):
      reason =
        builds.isEmpty
        ? "some of its names would be lost" : "the symbols of \(builds.joined(separator: ", ")) are not there"
    case .changed: reason = "it has changed meanwhile; try again"
    case .busy: reason = "another report is being analysed again; try later"
    }
    self.init(own: "NotReanalysable", ["reason": .string(reason)])
  }

  init(name: String, parameters: [String: JSONValue] = [:]) {
    self.name = name
    self.parameters = parameters
  }

  private init(own name: String, _ parameters: [String: JSONValue]) {
    self.init(name: "io.crashshield.Crashd.\(name)", parameters: parameters)
  }
}

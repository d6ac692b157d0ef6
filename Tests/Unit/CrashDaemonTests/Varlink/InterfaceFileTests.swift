import CrashProtocol
import Testing

@testable import CrashDaemon

/// Compares the interface file, which clients read, with the types in the source code of crashd and CrashClient.
@Suite("The interface file and the table of methods")
struct InterfaceFileTests {
  private static let file = InterfaceFile(CrashdInterface.description)

  /// Returns the reply type of a method whose reply contains a report; nil for other methods.
  ///
  /// The interface file declares a report as `object`, without its fields, because the report format has its own version
  /// and documentation.
  private static func objectReply(of name: String) -> (any Decodable.Type)? {
    switch name {
    case "Get": GetReply<JSONValue>.self
    case "Reanalyse": ReanalyseReply<JSONValue>.self
    case "Subscribe": SubscribeReply<JSONValue>.self
    default: nil
    }
  }

  private static func shapes<M: Method>(_ method: M.Type) -> (parameters: [FieldShape]?, reply: [FieldShape]?) {
    (FieldShape.fields(of: M.Parameters.self), FieldShape.fields(of: objectReply(of: M.name) ?? M.Reply.self))
  }

  @Test("the interface file, the table of methods and crashd's bindings have the same methods")
  func methods() {
    let names = Methods.all.map { $0.name }
    #expect(Set(names) == Set(Self.file.methods.keys) && names.count == Self.file.methods.count)
    // The table of handlers does not have Subscribe, because Subscribe sends many replies.
    #expect(Set(CrashdInterface.handlers.keys).union(["Subscribe"]) == Set(names))
  }

  @Test(
    "the interface file and the table have the same parameters and reply fields, with types",
    arguments: Methods.all.map { $0.name })
  func fields(name: String) throws {
    let method = try #require(Methods.all.first { $0.name == name })
    let described = try #require(Self.file.methods[name])
    let shapes = Self.shapes(method)
    expect(described.parameters, try #require(shapes.parameters), of: "the parameters of \(name)", isReply: false)
    expect(described.reply, try #require(shapes.reply), of: "the reply of \(name)", isReply: true)
  }

  private func expect(_ fields: [InterfaceFile.Field], _ shapes: [FieldShape], of what: String, isReply: Bool) {
    #expect(Set(fields.map(\.name)) == Set(shapes.map(\.name)), "\(what)")
    for field in fields {
      guard let shape = shapes.first(where: { $0.name == field.name }) else { continue }
      let place = "\(field.name) of \(what)"
      if case .optional(let kind) = field.kind {
        #expect(shape.isOptional, "\(place)")
        expect(kind, shape.kind, of: place)
      } else {
        // A reply field may be optional in the Swift type only: clients must accept replies of an older crashd that
        // lack it.
        #expect(!shape.isOptional || isReply, "\(place)")
        expect(field.kind, shape.kind, of: place)
      }
    }
  }

  private func expect(_ kind: InterfaceFile.Kind, _ shape: FieldShape.Kind, of place: String) {
    switch (kind, shape) {
    case (.list(let element), .list(let shape)), (.map(let element), .map(let shape)):
      expect(element, shape, of: place)
    case (.name("object"), .object), (.name("object"), .fields), (.name("string"), .string), (.name("int"), .int),
      (.name("bool"), .bool), (.name("float"), .float):
      break
    case (.name(let name), .fields(let shapes)):
      guard let fields = Self.file.types[name] else {
        Issue.record("\(place): the file has no type \(name)")
        return
      }
      expect(fields, shapes, of: name, isReply: true)
    default: Issue.record("\(place) is \(kind) in the file, and \(shape)")
    }
  }

  @Test("the interface files and the clients have the same errors, with parameters")
  func errors() {
    let files = [
      (Methods.interface, Self.file), (ServiceInterface.name, InterfaceFile(ServiceInterface.description)),
    ]
    let described = files.flatMap { interface, file in file.errors.map { ("\(interface).\($0)", $1) } }
    #expect(Set(described.map(\.0)) == ProtocolError.names)
    for (name, fields) in described {
      let parameters = Dictionary(uniqueKeysWithValues: fields.map { ($0.name, Self.sample($0.kind)) })
      let error = ProtocolError(name: name, parameters: parameters)
      #expect(error.name == name && error.parameters == parameters)
    }
  }

  private static func sample(_ kind: InterfaceFile.Kind) -> JSONValue {
    switch kind {
    case .name("string"): .string("a")
    case .name("int"): .int(3)
    case .name("bool"): .bool(false)
    default: .null
    }
  }
}

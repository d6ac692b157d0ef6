import CrashProtocol

/// Implements `org.varlink.service`, the interface that describes a Varlink service.
struct ServiceInterface: Sendable {
  static let name = "org.varlink.service"

  private struct Info: Encodable {
    var vendor = "swift-crash-shield"
    var product = "crashd"
    var version = ProductVersion.number
    var url = "https://varlink.org"
    var interfaces = [ServiceInterface.name, Methods.interface]
  }

  private struct Description: Encodable {
    var description: String
  }

  private struct InterfaceName: Codable {
    var interface: String
  }

  private static let nothing = ParameterReader(NoParameters.self)
  private static let interfaceName = ParameterReader(InterfaceName.self)

  func reply(to call: VarlinkCall) throws(ProtocolError) -> any Encodable & Sendable {
    switch call.name {
    case "GetInfo":
      _ = try Self.nothing.read(call)
      return Info()
    case "GetInterfaceDescription":
      let interface = try Self.interfaceName.read(call).interface
      switch interface {
      case Self.name: return Description(description: Self.description)
      case Methods.interface: return Description(description: CrashdInterface.description)
      default: throw .interfaceNotFound(String(interface.prefix(128)))
      }
    default: throw .methodNotFound(String(call.method.prefix(128)))
    }
  }

  static let description = """
    # The Varlink Service Interface is provided by every varlink service. It describes the service and the interfaces it
    # implements.
    interface org.varlink.service

    # Get a list of all the interfaces a service provides and information about the implementation.
    method GetInfo() -> (
      vendor: string,
      product: string,
      version: string,
      url: string,
      interfaces: []string
    )

    # Get the description of an interface that is implemented by this service.
    method GetInterfaceDescription(interface: string) -> (description: string)

    # The requested interface was not found.
    error InterfaceNotFound (interface: string)

    # The requested method was not found.
    error MethodNotFound (method: string)

    # The interface defines the requested method, but the service does not implement it.
    error MethodNotImplemented (method: string)

    # One of the passed parameters is invalid.
    error InvalidParameter (parameter: string)

    # The method has more than one reply; call it with `more`.
    error ExpectedMore ()
    """
}

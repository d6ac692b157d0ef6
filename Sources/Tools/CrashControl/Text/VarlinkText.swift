public import CrashProtocol
internal import FoundationEssentials

/// Parses the arguments of `crashctl varlink`.
public enum VarlinkText: Sendable {
  private static let interface = "io.crashshield.Crashd"

  /// Returns the full name of a method.
  ///
  /// A name without dots is a method of crashd's interface.
  public static func method(_ name: String) -> String { name.contains(".") ? name : "\(interface).\(name)" }

  /// Parses the parameters of a call.
  /// - Throws: `Failure` if the text is not a JSON object.
  public static func parameters(_ text: String?) throws(Failure) -> JSONValue {
    guard let text else { return .object([:]) }
    do {
      let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
      if case .object = value { return value }
      throw Failure(.usage, "the parameters are not a JSON object: write one such as '{\"pid\": 7}'")
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(.usage, "the parameters are not JSON: write an object such as '{\"pid\": 7}'")
    }
  }

  /// Returns the parameters that request the description of an interface, by default crashd's.
  public static func interfaceQuery(_ name: String?) -> JSONValue { .object(["interface": .string(name ?? interface)]) }
}

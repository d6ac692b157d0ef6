public import CrashProtocol
internal import FoundationEssentials

/// The words of `crashctl varlink`.
public enum VarlinkText: Sendable {
  private static let interface = "io.crashshield.Crashd"

  /// The whole name of a method; one without dots is crashd's own.
  public static func method(_ name: String) -> String { name.contains(".") ? name : "\(interface).\(name)" }

  /// The parameters of a call.
  /// - Throws: `Failure` when the text is no JSON object.
  public static func parameters(_ text: String?) throws(Failure) -> JSONValue {
    guard let text else { return .object([:]) }
    do {
      let value = try JSONDecoder().decode(JSONValue.self, from: Data(text.utf8))
      if case .object = value { return value }
      throw Failure(.usage, "the parameters are no JSON object: write one such as '{\"pid\": 7}'")
    } catch let failure as Failure {
      throw failure
    } catch {
      throw Failure(.usage, "the parameters are no JSON: write an object such as '{\"pid\": 7}'")
    }
  }

  /// The description of crashd's interface.
  public static func interfaceQuery(_ name: String?) -> JSONValue { .object(["interface": .string(name ?? interface)]) }
}

import FleetServer
import SettingsFiles

/// The settings `tls.…`: the paths of PEM files.
struct TLSFiles: Sendable, Equatable {
  var certificate: String?
  var key: String?
  var clientCA: String?
  var requiresClientCertificate = false

  /// The maximum size of a PEM file.
  ///
  /// A chain has a few certificates, and a list of authorities a few hundred.
  private static let pemLimitBytes = 1 << 20

  /// Reads the files, and returns nil if no file is set.
  ///
  /// - Throws: `SettingsError`, which names the key and its file.
  func read() throws(SettingsError) -> FleetTLS? {
    guard let certificate, let key else {
      if certificate == nil, key == nil, clientCA == nil, !requiresClientCertificate { return nil }
      throw SettingsError(place: "tls", reason: "set both tls.certificate and tls.key")
    }
    if requiresClientCertificate, clientCA == nil {
      throw SettingsError(
        place: "tls.require-client-certificate", reason: "set tls.client-ca to the file of an authority")
    }
    var tls = FleetTLS(
      chain: try Self.text(of: certificate, "tls.certificate"), key: try Self.text(of: key, "tls.key"))
    if let clientCA { tls.clientCA = try Self.text(of: clientCA, "tls.client-ca") }
    tls.requiresClientCertificate = requiresClientCertificate
    do throws(FleetTLS.Problem) { try tls.check() } catch {
      switch error {
      case .chain: throw Self.damaged(certificate, "tls.certificate", "a certificate in PEM")
      case .key: throw Self.damaged(key, "tls.key", "a private key in PEM without a password")
      case .clientCA: throw Self.damaged(clientCA ?? "", "tls.client-ca", "a certificate in PEM")
      case .mismatch: throw Self.damaged(key, "tls.key", "the key of the first certificate in '\(certificate)'")
      }
    }
    return tls
  }

  /// Returns the text of a PEM file.
  static func text(of path: String) throws(SettingProblem) -> String {
    try SettingText.contents(of: path, limitBytes: pemLimitBytes)
  }

  private static func text(of path: String, _ key: String) throws(SettingsError) -> String {
    do throws(SettingProblem) { return try text(of: path) } catch {
      throw SettingsError(place: key, reason: "'\(path)': \(error.reason)")
    }
  }

  private static func damaged(_ path: String, _ key: String, _ wanted: String) -> SettingsError {
    SettingsError(place: key, reason: "'\(path)' does not contain \(wanted)")
  }
}

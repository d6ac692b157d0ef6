import NIOSSL

/// The certificates and the key of a server, each as the text of a PEM file.
public struct FleetTLS: Sendable, Equatable {
  /// The certificate of the server, and then the intermediate certificates between it and its authority.
  public var chain: String
  /// The private key of the first certificate in `chain`, without a password.
  public var key: String
  /// The authorities whose client certificates the server accepts; nil requests no client certificate.
  public var clientCA: String?
  /// Whether the server refuses connections without a client certificate.
  public var requiresClientCertificate = false

  /// A text that the server cannot use.
  public enum Problem: Error, Equatable {
    /// The chain has no certificate, or a damaged one.
    case chain
    /// The key is not a private key without a password.
    case key
    /// The text of the authorities has no certificate, or a damaged one.
    case clientCA
    /// The key does not belong to the first certificate of the chain, or BoringSSL refuses both.
    case mismatch
  }

  /// Creates the configuration of a server that requests no client certificate.
  public init(chain: String, key: String) { (self.chain, self.key) = (chain, key) }

  /// Checks that a server can use all texts.
  public func check() throws(Problem) {
    let configuration = try configuration()
    do { _ = try NIOSSLContext(configuration: configuration) } catch { throw .mismatch }
  }

  func configuration() throws(Problem) -> TLSConfiguration {
    let chain = try Self.certificates(in: self.chain, else: .chain).map { NIOSSLCertificateSource.certificate($0) }
    let key: NIOSSLPrivateKey
    do { key = try NIOSSLPrivateKey(bytes: Array(self.key.utf8), format: .pem) } catch { throw .key }
    var configuration = TLSConfiguration.makeServerConfiguration(certificateChain: chain, privateKey: .privateKey(key))
    configuration.minimumTLSVersion = .tlsv12
    if let clientCA {
      configuration.trustRoots = .certificates(try Self.certificates(in: clientCA, else: .clientCA))
      // Send the names of the authorities, so that a client with several certificates can choose one. Do not verify a
      // host name, because the certificate of a client names no host.
      configuration.sendCANameList = true
      configuration.certificateVerification =
        requiresClientCertificate ? .noHostnameVerification : .optionalVerification
    }
    return configuration
  }

  /// Returns the first certificate of a PEM text in DER; nil if there is none.
  public static func certificate(inPEM text: String) -> [UInt8]? {
    guard let first = try? certificates(in: text, else: .chain).first else { return nil }
    return try? first.toDERBytes()
  }

  private static func certificates(in text: String, else problem: Problem) throws(Problem) -> [NIOSSLCertificate] {
    guard let all = try? NIOSSLCertificate.fromPEMBytes(Array(text.utf8)), !all.isEmpty else { throw problem }
    return all
  }
}

import FleetStore
import Hummingbird
import NIOCore
import NIOSSL

/// The context of a request.
///
/// The context contains the connection, because some refusals close the connection.
struct FleetContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// The client certificate of the connection, which BoringSSL has verified; nil if there is none, or if it has
  /// expired.
  ///
  /// The expiry is checked here, because a connection can outlive its certificate, and a resumed session is not
  /// verified again.
  ///
  /// Precondition: the server has authorities for client certificates. Without authorities, BoringSSL verifies no
  /// certificate.
  func certificate() async -> ClientCertificate? {
    // Reading fails only if the connection has ended.
    guard let certificate = try? await channel.nioSSL_peerCertificate().get() else { return nil }
    if Self.isExpired(certificate, now_us: FleetStore.now_us()) { return nil }
    return (try? certificate.toDERBytes()).flatMap { ClientCertificate(der: $0) }
  }

  private static func isExpired(_ certificate: NIOSSLCertificate, now_us: Int64) -> Bool {
    Int64(certificate.notValidAfter) <= now_us / 1_000_000
  }
}

import FleetStore
import Hummingbird
import NIOCore
import NIOSSL

/// The context of a request.
///
/// It has the connection, because some refusals close it.
struct FleetContext: RequestContext {
  var coreContext: CoreRequestContextStorage
  let channel: any Channel

  init(source: ApplicationRequestContextSource) {
    coreContext = .init(source: source)
    channel = source.channel
  }

  /// The client certificate of the connection, which BoringSSL has verified; nil if there is none, or if it has expired.
  ///
  /// A connection can outlive its certificate, and a resumed session is not verified again.
  ///
  /// Precondition: the server has authorities for client certificates. Without them, BoringSSL verifies nothing.
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

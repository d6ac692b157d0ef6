import Hummingbird
import NIOCore

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
}

import AsyncHTTPClient
import CrashShield
import Glibc
import Hummingbird

/// Listens on loopback on a port that the kernel chooses, and prints the port on standard output.
///
/// A request of `/crash/N` crashes below N calls of the server's own functions.
@main struct LargeServer {
  static func main() async throws {
    try Shield.startOrThrow()
    let router = Router()
    router.get("/") { _, _ in "well\n" }
    router.get("/crash/:depth") { _, context -> String in
      let depth = try context.parameters.require("depth", as: Int.self)
      return "\(Store().price(depth: depth))\n"
    }
    router.get("/fetch/:port") { _, context -> String in
      let port = try context.parameters.require("port", as: Int.self)
      let request = HTTPClientRequest(url: "http://127.0.0.1:\(port)/")
      let response = try await HTTPClient.shared.execute(request, timeout: .seconds(10))
      return "\(response.status.code)\n"
    }
    let server = Application(
      router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
      onServerRunning: { channel in
        let line = "\(channel.localAddress?.port ?? 0)\n"
        // Use write, because print buffers its output to a pipe. Invariant: the string is valid as a buffer during the
        // call.
        _ = write(STDOUT_FILENO, line, line.utf8.count)
      })
    try await server.runService()
  }
}

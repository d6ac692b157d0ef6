import CrashReport
import Glibc
import Testing

/// Tests of the demo's HTTP server, which the README describes.
@Suite(.sharedDaemon, .serialized)
struct DemoServerTests {
  @Test(
    "each faulty route's report names the function and the line",
    arguments: [
      ("/cart/array-index", "Discounts.percent", "Index out of range"),
      ("/user/force-unwrap", "newsletterRecipients", "Unexpectedly found nil"),
      ("/native/null-write", "inventory_restock", ""),
    ])
  func route(path: String, function: String, reason: String) async throws {
    let daemon = try SharedDaemon.current
    let server = try await DemoServerProcess.start(environment: daemon.place.environment)
    let answer = try await server.get(path)
    #expect(answer.isEmpty, "the server answered: \(answer)")
    try await server.process.wait()
    let reports = try await daemon.reports(of: server.process.pid)
    #expect(reports.count == 1)
    let report = try #require(reports.first)
    let thread = try #require(report.crashedThread)
    let top = try #require(thread.topOwnFrame, "\(thread.listing)")
    #expect(report.reason.contains(reason))
    #expect(top.function.contains(function), "\(thread.listing)")
    let name = String(path.split(separator: "/").last ?? "")
    let mark = try SourceMark.find(name, in: ["DemoServer", "CDemoInventory"])
    #expect("\(top.file?.split(separator: "/").last ?? ""):\(top.line ?? 0)" == mark.description)
    #expect(report.process.name == "demo-server")
    #expect(report.breadcrumbs.last?.text == "GET \(path)")
    #expect(report.breadcrumbs.last?.level == .info && report.breadcrumbs.last?.category == "shop")
    if path == "/cart/array-index" {
      let callers = thread.frames.filter(\.isAsync).map(\.function)
      #expect(callers.contains { $0.contains("CartService.checkout") }, "\(thread.listing)")
    }
  }

  @Test("the demo server's other routes answer, and SIGTERM ends the server with status 0")
  func healthy() async throws {
    let daemon = try SharedDaemon.current
    let server = try await DemoServerProcess.start(environment: daemon.place.environment)
    #expect(try await server.get("/healthy").hasSuffix("healthy\n"))
    #expect(try await server.get("/cart").hasSuffix("to pay: 900 cents\n"))
    #expect(try await server.get("/nowhere").hasPrefix("HTTP/1.1 404"))
    server.process.signal(SIGTERM)
    #expect(try await server.process.wait().code == 0)
    #expect(try await daemon.reports(of: server.process.pid).isEmpty)
  }

  @Test("under crashctl serve, the demo server answers again on the same port after each crash")
  func restarts() async throws {
    let daemon = try SharedDaemon.current
    let server = try await DemoServerProcess.start(
      environment: daemon.place.environment,
      ["crashctl", "serve", "--min-uptime", "0s", "--listen", "127.0.0.1:0", "--", Binaries.path("DemoServer")])
    for path in ["/cart/array-index", "/user/force-unwrap", "/native/null-write"] {
      #expect(try await server.get("/healthy").hasSuffix("healthy\n"))
      #expect(try await server.get(path).isEmpty)
    }
    #expect(try await server.get("/healthy").hasSuffix("healthy\n"))
    server.process.signal(SIGTERM)
    #expect(try await server.process.wait().code == 0)
  }
}

/// A running DemoServer that listens on its port.
struct DemoServerProcess {
  let process: ChildProcess
  let port: UInt16

  /// Starts the server, or a command that starts it.
  static func start(
    environment: [String: String], _ command: [String] = ["DemoServer"]
  ) async throws -> DemoServerProcess {
    let (reader, writer) = try FileDescriptor.pair()
    let process = try ChildProcess.start(
      Binaries.path(command[0]), Array(command.dropFirst()),
      ChildProcess.Options(environment: environment, output: writer.number))
    do {
      let line = try await blocking { try reader.readLine() }
      let port = try #require(line.split(separator: ":").last.flatMap { UInt16($0) }, "the server said '\(line)'")
      return DemoServerProcess(process: process, port: port)
    } catch {
      process.signal(SIGKILL)
      try await process.wait()
      throw error
    }
  }

  /// Sends a GET request and returns the whole response, or an empty one if the request crashed the server.
  func get(_ path: String) async throws -> String {
    let port = port
    return try await blocking {
      let connection = try FileDescriptor(
        socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0), from: "socket")
      var address = sockaddr_in()
      address.sin_family = sa_family_t(AF_INET)
      address.sin_port = port.bigEndian
      address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
      // Invariant: sockaddr_in begins with the fields of sockaddr, and the call does not keep the pointer.
      let connected = unsafe withUnsafePointer(to: address) { pointer in
        unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
          unsafe connect(connection.number, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
      }
      guard connected == 0 else { throw SystemError("connect", errno) }
      let request = Array("GET \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".utf8)
      guard unsafe send(connection.number, request, request.count, Int32(MSG_NOSIGNAL)) == request.count
      else { throw SystemError("send", errno) }
      var answer: [UInt8] = []
      do {
        answer = try connection.readToEnd()
      } catch let error as SystemError where error.errno == ECONNRESET {
        // The server crashed before it had read the request, so the kernel reset the connection.
      }
      return String(decoding: answer, as: UTF8.self)
    }
  }
}

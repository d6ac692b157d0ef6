import ArgumentParser
import CrashClient
import CrashPages
import Foundation
import Glibc

@main
struct CrashWeb: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "crash-web",
    abstract: "Show the crashes of this machine as web pages",
    discussion: """
      'crashctl web' starts this program. It reads from crashd's socket, listens on loopback or on a Unix socket, and \
      prints a link with a one-time token. The pages are read-only.
      """)

  @Option(help: ArgumentHelp("Connect to crashd at this socket", valueName: "path"))
  var socket: String?

  @Option(
    help: ArgumentHelp(
      "Listen on this port of loopback, or on a Unix socket; 0 means any free port", valueName: "port|path"))
  var listen = "0"

  @Option(
    help: ArgumentHelp("Write the pages as files into this directory, and exit", valueName: "directory"))
  var html: String?

  func validate() throws {
    if ListenPlace(listen) == nil {
      throw ValidationError(
        "invalid --listen '\(listen)'; examples: 8080, 127.0.0.1:8080, [::1]:8080, /run/user/1000/crash-web.sock")
    }
  }

  func run() async throws {
    guard let place = ListenPlace(listen) else { return }
    let path = SocketPath.find(option: socket, environment: ProcessInfo.processInfo.environment)
    let site = try Site(source: CrashdSource(client: CrashClient(socketPath: path, timeout: .seconds(10))))
    if let html { return try await write(StaticSite(site: site), to: html) }
    try await PageServer(site, on: place, command: "crashctl web").run()
  }
}

extension CrashWeb {
  private func write(_ pages: StaticSite, to directory: String) async throws {
    let files: [StaticSite.File]
    do throws(SourceError) { files = try await pages.files() } catch {
      if case .unavailable(let reason) = error { throw StartFailure(text: reason) }
      throw StartFailure(text: "crashd cannot answer: \(error)")
    }
    let folder = URL(fileURLWithPath: directory, isDirectory: true)
    // The files contain crashes of all users whose crashes the caller can see, so other users must not read the files.
    umask(0o077)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    for file in files { try Data(file.body).write(to: folder.appendingPathComponent(file.name), options: .atomic) }
    print("\(files.count) files in \(directory); open \(folder.appendingPathComponent("index.html").path)")
  }
}

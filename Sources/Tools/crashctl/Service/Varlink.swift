import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import Glibc

struct Varlink: ParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Call crashd's Varlink interface",
    subcommands: [Call.self, Info.self, Interface.self])

  struct Call: ParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Call a method and print the reply",
      discussion: """
        crashctl varlink call Status
        crashctl varlink call List '{"limit": 3}'
        crashctl varlink call --more Subscribe
        """)

    @Flag(help: "Request a stream of replies and print each reply, until Ctrl-C")
    var more = false

    @Argument(help: "Method, with or without its interface, such as Status")
    var method: String

    @Argument(help: "Parameters, a JSON object")
    var parameters: String?

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let style = connection.json == .off ? JSONStyle.pretty : connection.json
      let parameters = try VarlinkText.parameters(parameters)
      let method = VarlinkText.method(method)
      guard more else {
        let reply = try connection.ask { client throws(ClientError) in
          try client.call(method: method, parameters: parameters)
        }
        return try Output.write(style.text(reply))
      }
      let replies = try connection.ask { client throws(ClientError) in
        try client.stream(method: method, parameters: parameters)
      }
      while let reply = try connection.ask({ _ throws(ClientError) in try replies.next(hangup: STDOUT_FILENO) }) {
        try Output.write(style.text(reply))
      }
    }
  }

  struct Info: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the service's vendor, version and interfaces")

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let style = connection.json == .off ? JSONStyle.pretty : connection.json
      let reply = try connection.ask { client throws(ClientError) in
        try client.call(method: "org.varlink.service.GetInfo")
      }
      try Output.write(style.text(reply))
    }
  }

  struct Interface: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Print the description of an interface")

    @Argument(help: "Interface (default: crashd's)")
    var interface: String?

    @OptionGroup(title: "General options") var connection: ConnectionOptions

    func run() throws {
      let reply = try connection.ask { client throws(ClientError) in
        try client.call(
          method: "org.varlink.service.GetInterfaceDescription", parameters: VarlinkText.interfaceQuery(interface))
      }
      if connection.json != .off { return try connection.show(json: reply) }
      try connection.show(reply["description"]?.string ?? "")
    }
  }
}

import ArgumentParser
import CrashReport
import FleetStore

/// Manages the tokens of hosts.
struct Token: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add, list and revoke tokens of hosts", subcommands: [Add.self, List.self, Revoke.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Add a token, and print it; it is never shown again")

    @OptionGroup var options: SettingsOptions

    @Argument(help: "The tenant, which is added if it is new")
    var tenant: String

    @Option(help: "A name for the list of tokens, such as the group of hosts that has the token")
    var name = "hosts"

    func validate() throws {
      guard isName(tenant), isName(name) else {
        throw ValidationError("names have at most 64 letters, digits, '-', '_' and '.'")
      }
    }

    func run() async throws {
      print(try await options.withStore { try await $0.addToken(tenant: tenant, name: name) }.text)
    }

    private func isName(_ text: String) -> Bool {
      (1...64).contains(text.utf8.count)
        && text.utf8.allSatisfy { byte in
          switch byte {
          case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "."):
            true
          default: false
          }
        }
    }
  }

  struct List: AsyncParsableCommand {
    static let configuration = CommandConfiguration(abstract: "List tokens without their secrets")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      for token in try await options.withStore({ try await $0.tokens() }) {
        let end = token.revoked.map { "revoked \($0)" } ?? "valid"
        print("\(token.id)  \(token.tenant)  \(token.name)  added \(token.created) UTC  \(end)")
      }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revoke a token; services refuse it within 30 seconds")

    @OptionGroup var options: SettingsOptions

    @Argument(help: "The number of the token, as 'token list' shows it")
    var number: Int32

    func run() async throws {
      guard try await options.withStore({ try await $0.revokeToken(number) }) else {
        throw Failure("there is no valid token \(number); see 'crash-fleet token list'")
      }
    }
  }
}

/// A failure.
///
/// The program prints its text, and exits with 1.
struct Failure: Error, CustomStringConvertible {
  var description: String

  init(_ description: String) { self.description = description }
}

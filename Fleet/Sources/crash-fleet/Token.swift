import ArgumentParser
import CrashReport
import FleetServer
import FleetStore
import SettingsFiles

/// Manages the tokens and client certificates of hosts.
struct Token: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Add, list and revoke tokens and client certificates of hosts",
    subcommands: [Add.self, List.self, Revoke.self])

  struct Add: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Add a token, and print it; it is never shown again",
      discussion: """
        With --certificate, no token is added: a host that connects with this client certificate then sends to the \
        tenant. The service must trust the authority of the certificate (tls.client-ca). The command prints the number \
        for 'token revoke', and the fingerprint as 'openssl x509 -noout -fingerprint -sha256' does.
        """)

    @OptionGroup var options: SettingsOptions

    @Argument(help: "The tenant, which is added if it is new")
    var tenant: String

    @Option(help: "A name for the list of tokens, such as the group of hosts that has the token")
    var name = "hosts"

    @Option(
      help: ArgumentHelp("Add the first certificate of this PEM file instead of a token", valueName: "file"),
      completion: .file())
    var certificate: String?

    func validate() throws {
      guard isName(tenant), isName(name) else {
        throw ValidationError("names have at most 64 letters, digits, '-', '_' and '.'")
      }
    }

    func run() async throws {
      guard let certificate else {
        print(try await options.withStore { try await $0.addToken(tenant: tenant, name: name) }.text)
        return
      }
      let content = try Self.read(certificate)
      guard
        let added = try await options.withStore({
          try await $0.addCertificate(content, tenant: tenant, name: name)
        })
      else { throw Failure("the certificate of '\(certificate)' is added already; see 'crash-fleet token list'") }
      print("\(added.id)  SHA-256 \(added.fingerprint ?? "")")
    }

    private static func read(_ path: String) throws -> ClientCertificate {
      let text: String
      do throws(SettingProblem) { text = try TLSFiles.text(of: path) } catch {
        throw Failure("'\(path)': \(error.reason)")
      }
      guard let certificate = FleetTLS.certificate(inPEM: text).flatMap({ ClientCertificate(der: $0) }) else {
        throw Failure("'\(path)' does not begin with a certificate in PEM of at most 16 KiB")
      }
      return certificate
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
    static let configuration = CommandConfiguration(
      abstract: "List tokens without their secrets, and fingerprints of certificates")

    @OptionGroup var options: SettingsOptions

    func run() async throws {
      for token in try await options.withStore({ try await $0.tokens() }) {
        let end = token.revoked.map { "revoked \($0)" } ?? "valid"
        let fingerprint = token.fingerprint.map { "  SHA-256 \($0)" } ?? ""
        print("\(token.id)  \(token.tenant)  \(token.name)  added \(token.created) UTC  \(end)\(fingerprint)")
      }
    }
  }

  struct Revoke: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      abstract: "Revoke a token or a certificate; services refuse it within 30 seconds")

    @OptionGroup var options: SettingsOptions

    @Argument(help: "The number of the token or certificate, as 'token list' shows it")
    var number: Int32

    func run() async throws {
      guard try await options.withStore({ try await $0.revokeToken(number) }) else {
        throw Failure("there is no valid token or certificate \(number); see 'crash-fleet token list'")
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

import ArgumentParser
import CrashClient
import CrashControl
import CrashProtocol
import LinuxSystem

/// Options of every verb that calls crashd.
struct ConnectionOptions: ParsableArguments, Printing {
  @Option(
    help: ArgumentHelp(
      "Connect to this socket (default: $CRASHD_SOCKET, else the system's, else the user's)", valueName: "path"),
    completion: .file())
  var socket: String?

  @OptionGroup var output: OutputOptions

  var client: CrashClient {
    CrashClient(socketPath: SocketPath.find(option: socket, environment: environment))
  }

  /// Performs a call, and returns its result.
  /// - Throws: `Failure` with the reason.
  func ask<Result>(_ call: (CrashClient) throws(ClientError) -> Result) throws(Failure) -> Result {
    do throws(ClientError) {
      return try call(client)
    } catch {
      throw Failure(error, of: client)
    }
  }

  /// Performs a call for the report that the argument selects, and returns its result.
  /// - Throws: `Failure` with the reason.
  func ask<Result>(
    about word: String?, _ call: (_ client: CrashClient, _ id: String?) throws(ClientError) -> Result
  ) throws(Failure) -> Result {
    do throws(ClientError) {
      return try ReportSelector.ask(about: word, of: client) { id throws(ClientError) in try call(client, id) }
    } catch {
      if case .refused(.noSuchReport(let word)) = error, ReportSelector.isIncident(word, of: client) {
        throw Failure(.nothingFound, "'\(word)' is an incident, not a crash: see crashctl incidents show \(word)")
      }
      throw Failure(error, of: client)
    }
  }
}

/// The argument that selects the report of a verb.
struct ReportArgument: ParsableArguments {
  @Argument(
    help: ArgumentHelp(
      "First digits of a report's id; or a pid, program, unit, path or group, for its newest report (default: newest)",
      valueName: "report"),
    completion: .custom(Completions.reports))
  var word: String?
}

public import CrashClient
import CrashProtocol
import Glibc
internal import LinuxSystem

/// The exit codes of crashctl.
public enum ExitStatus: Int32, Sendable {
  /// The command did what the user requested.
  case done = 0
  /// The report, process or other item does not exist.
  case nothingFound = 1
  /// The command line is wrong.
  case usage = 2
  /// crashd cannot be reached, or cannot answer.
  case unreachable = 3
}

/// The reason why crashctl fails: an exit code and one line.
public struct Failure: Error, Sendable, Equatable {
  /// The exit code of the process.
  public var status: Int32
  /// The message: what failed, on what, why, and the remedy.
  ///
  /// An empty message is not printed.
  public var message: String

  /// Creates a failure.
  public init(_ status: ExitStatus, _ message: String) {
    self.status = status.rawValue
    self.message = message
  }

  /// Creates a failure with an exit code that is not in `ExitStatus`.
  public init(status: Int32, _ message: String) {
    self.status = status
    self.message = message
  }

  /// Describes a failed call.
  ///
  /// If `client` is given, the message also says which access to reports the caller has.
  public init(_ error: ClientError, of client: CrashClient? = nil) {
    switch error {
    case .unreachable(let path, let number): self.init(.unreachable, Self.unreachable(path, number))
    case .timedOut(let path):
      self.init(.unreachable, "crashd at '\(path)' did not answer in time: see `systemctl status crashd`")
    case .closed(let path):
      self.init(.unreachable, "crashd at '\(path)' closed the connection: it has stopped or restarted, try again")
    case .failed(let path, let number):
      self.init(.unreachable, "the connection to crashd at '\(path)' broke (\(SystemError.text(number))): try again")
    case .malformedReply(let reason):
      self.init(
        .unreachable, "cannot read the reply of crashd (\(reason)): are crashd and crashctl of the same version?")
    case .tooOld(let what):
      self.init(.unreachable, "crashd is older than crashctl and cannot \(what); update crashd")
    case .messageTooLarge(let limit):
      self.init(.unreachable, "crashd sent a reply longer than \(limit >> 20) MiB: ask for less, such as list -n 100")
    case .cancelled: self.init(.done, "")
    case .refused(let error): self.init(error, of: client)
    }
  }

  /// Describes an error that crashd returned.
  private init(_ error: ProtocolError, of client: CrashClient?) {
    switch error {
    case .noSuchReport(""): self = .noCrash(of: client)
    case .noSuchReport(let word):
      self.init(.nothingFound, "no report has the id, pid, program, unit or group '\(word)': see crashctl list")
    case .ambiguousID(let id, let count):
      self.init(.usage, "\(count) reports' ids begin with '\(id)': give more digits")
    case .noSuchGroup(let key):
      self.init(.nothingFound, "no group, or more than one, has a key that begins with '\(key)': see crashctl groups")
    case .notReanalysable(let reason):
      self.init(.nothingFound, "cannot analyze the report again: \(reason)")
    case .invalidRecord(let reason):
      self.init(.nothingFound, "crashd refused the record: \(reason)")
    case .invalidCursor(let cursor):
      self.init(.usage, "invalid cursor '\(cursor)' for this crashd: use one from follow --json=short")
    case .cursorExpired(let lost, _):
      self.init(.nothingFound, "\(lost) reports behind the cursor were removed before they were read")
    case .storeUnavailable(let reason):
      self.init(.unreachable, "crashd cannot read its store now (\(reason)): see crashd's log")
    case .noSuchSubscriber(let name):
      self.init(.nothingFound, "there is no subscriber '\(name)': see crashctl subscribers" + Self.note(client))
    case .subscriberInUse(let name):
      self.init(
        .usage,
        "crashd's settings name the collector of '\(name)': remove the collector from forward and reload crashd first")
    case .noSuchBuild(let word):
      self.init(.nothingFound, "no build, or more than one, has the id or release '\(word)': see crashctl health")
    case .noSuchService(""):
      self.init(.nothingFound, "no attached program and no use-after-free crash yet" + Self.note(client))
    case .noSuchService(let name):
      self.init(.nothingFound, "unknown program '\(name)': see crashctl dangling policy" + Self.note(client))
    case .noSuchClass(let name):
      self.init(
        .nothingFound,
        "no attached process has a class '\(name)': check the full name (crashctl dangling classes), or add --force")
    case .tooManyClients(let limit):
      self.init(
        .unreachable,
        "crashd has too many clients (limit \(limit), of one user or in total): end some, or try again later")
    case .tooManyClasses(let limit):
      self.init(
        .usage, "a program already has the maximum of \(limit) named classes: pin the protection on or off instead")
    case .methodNotFound(let name):
      self.init(.usage, "crashd has no method '\(name)': see crashctl varlink interface")
    case .interfaceNotFound(let name):
      self.init(.usage, "crashd has no interface '\(name)': see crashctl varlink info")
    case .invalidParameter(let name):
      self.init(.usage, "invalid parameter '\(name)', or its value: see crashctl varlink interface")
    // The other errors occur only if crashd and crashctl have different versions.
    default:
      self.init(.unreachable, "crashd refused the call (\(error.name)): are crashd and crashctl of the same version?")
    }
  }

  /// Returns the failure to report if crashd has no report that the caller can read.
  ///
  /// The message mentions processes that have just ended, because crashd can still be reading their rings.
  public static func noCrash(of client: CrashClient?) -> Failure {
    let ending = (try? client?.status().ending) ?? 0
    let who = ending == 1 ? "a process has just ended" : "\(ending) processes have just ended"
    let more = ending == 0 ? "" : "; \(who) and crashd is reading the ring: try again"
    let advice = ending == 0 ? ". Is your program attached? crashctl doctor PID. Try it: crashctl demo" : ""
    return Failure(.nothingFound, "no crash yet" + more + note(client) + advice)
  }

  /// Returns the failure to report an empty result, with a note if the caller has limited access.
  public static func nothing(_ sentence: String, of client: CrashClient) -> Failure {
    Failure(.nothingFound, sentence + note(client))
  }

  /// Returns a note about the caller's access, because crashd shows most users only their own crashes.
  private static func note(_ client: CrashClient?) -> String {
    // Root has access to all crashes, so a note is not necessary.
    if geteuid() == 0 { return "" }
    let access = try? client?.status().access
    if access?.all == true { return "" }
    return " (data of other users is shown only to \(access.map(AccessText.whoSeesAll) ?? "root"))"
  }

  private static func unreachable(_ path: String, _ number: Int32) -> String {
    let reason = SystemError.text(number)
    switch number {
    case EACCES, EPERM:
      return "cannot connect to crashd at '\(path)' (\(reason)): become root, or join the group of its socket"
    case ENAMETOOLONG:
      return "'\(path)' is too long for a socket (\(reason)): name a shorter one with --socket or CRASHD_SOCKET"
    default:
      return
        "no crashd at '\(path)' (\(reason)): start crashd.socket, or name its socket with --socket or CRASHD_SOCKET"
    }
  }
}

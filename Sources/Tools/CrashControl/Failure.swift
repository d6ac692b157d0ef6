public import CrashClient
import CrashProtocol
import Glibc
internal import LinuxSystem

/// The exit codes of crashctl.
public enum ExitStatus: Int32, Sendable {
  /// What was asked for was done.
  case done = 0
  /// No such report, no such process.
  case nothingFound = 1
  /// The command line is wrong.
  case usage = 2
  /// crashd cannot be reached, or cannot answer.
  case unreachable = 3
}

/// Why crashctl ends without having done what was asked: an exit code and one sentence.
public struct Failure: Error, Sendable, Equatable {
  /// What the shell sees.
  public var status: Int32
  /// What failed, where, and what to do; for people.
  ///
  /// Nothing is printed when it is empty.
  public var message: String

  /// Makes a failure.
  public init(_ status: ExitStatus, _ message: String) {
    self.status = status.rawValue
    self.message = message
  }

  /// Makes a failure with an exit code that is not one of crashctl's own.
  public init(status: Int32, _ message: String) {
    self.status = status
    self.message = message
  }

  /// The sentence for a call that failed; with the `client` that made it, also for whom there is more to see.
  public init(_ error: ClientError, of client: CrashClient? = nil) {
    switch error {
    case .unreachable(let path, let number): self.init(.unreachable, Self.unreachable(path, number))
    case .timedOut(let path):
      self.init(.unreachable, "crashd at '\(path)' did not answer in time: look at `systemctl status crashd`")
    case .closed(let path):
      self.init(.unreachable, "crashd at '\(path)' closed the connection: it was stopped or restarted, try again")
    case .failed(let path, let number):
      self.init(.unreachable, "the connection to crashd at '\(path)' broke (\(SystemError.text(number))): try again")
    case .malformedReply(let reason):
      self.init(
        .unreachable, "crashd sent a reply that crashctl does not understand (\(reason)): are both of one version?")
    case .tooOld(let what):
      self.init(.unreachable, "crashd is older than crashctl and cannot \(what); update crashd")
    case .messageTooLarge(let limit):
      self.init(.unreachable, "crashd sent a reply longer than \(limit >> 20) MiB: ask for less, such as list -n 100")
    case .cancelled: self.init(.done, "")
    case .refused(let error): self.init(error, of: client)
    }
  }

  /// The sentence for an error that crashd answered.
  private init(_ error: ProtocolError, of client: CrashClient?) {
    switch error {
    case .noSuchReport(""): self = .noCrash(of: client)
    case .noSuchReport(let id): self.init(.nothingFound, "no report's id begins with '\(id)': see crashctl list")
    case .ambiguousID(let id, let count):
      self.init(.usage, "\(count) reports have an id that begins with '\(id)': give more of its digits")
    case .noSuchGroup(let key):
      self.init(.nothingFound, "no group's key, or more than one, begins with '\(key)': see crashctl groups")
    case .notReanalysable(let reason):
      self.init(.nothingFound, "the report stays as it is: \(reason)")
    case .invalidCursor(let cursor):
      self.init(.usage, "'\(cursor)' is no cursor of this crashd: take one from follow --json=short")
    case .cursorExpired(let lost, _):
      self.init(.nothingFound, "\(lost) reports behind the cursor were removed before they were read")
    case .storeUnavailable(let reason):
      self.init(.unreachable, "crashd cannot read its store now (\(reason)): look at its log")
    case .noSuchSubscriber(let name):
      self.init(.nothingFound, "there is no subscriber '\(name)': see crashctl subscribers" + Self.note(client))
    case .subscriberInUse(let name):
      self.init(
        .usage, "crashd's settings name the collector of '\(name)': take it out of forward, and reload crashd first")
    case .noSuchService(""):
      self.init(.nothingFound, "no program has attached or crashed with uses of dead objects yet" + Self.note(client))
    case .noSuchService(let name):
      self.init(.nothingFound, "crashd knows no program '\(name)': see crashctl dangling policy" + Self.note(client))
    case .tooManyClients(let limit):
      self.init(
        .unreachable,
        "crashd has too many clients (the limit is \(limit), of one user or in all): end some, or try again later")
    case .tooManyClasses(let limit):
      self.init(.usage, "\(limit) classes of one program were named already: pin the protection on or off instead")
    case .methodNotFound(let name):
      self.init(.usage, "crashd has no method '\(name)': see crashctl varlink interface")
    case .interfaceNotFound(let name):
      self.init(.usage, "crashd has no interface '\(name)': see crashctl varlink info")
    case .invalidParameter(let name):
      self.init(.usage, "crashd takes no such parameter '\(name)', or not this value: see crashctl varlink interface")
    // What crashctl causes only where the versions differ.
    default:
      self.init(.unreachable, "crashd refused the call (\(error.name)): are crashd and crashctl of one version?")
    }
  }

  /// No crash at all was reported, or not yet: crashd may be reading one of this moment.
  public static func noCrash(of client: CrashClient?) -> Failure {
    let ending = (try? client?.status().ending) ?? 0
    let who = ending == 1 ? "a process has just ended and is" : "\(ending) processes have just ended and are"
    let more = ending == 0 ? "" : "; \(who) being read: ask again"
    return Failure(.nothingFound, "no crash was reported yet" + more + note(client))
  }

  /// Nothing that crashd shows to the caller: the sentence, and to whom it shows more.
  public static func nothing(_ sentence: String, of client: CrashClient) -> Failure {
    Failure(.nothingFound, sentence + note(client))
  }

  /// What an empty answer may hide: crashd shows a user that user's crashes, and all of them to those whom it names.
  private static func note(_ client: CrashClient?) -> String {
    // Root is spared the question.
    if geteuid() == 0 { return "" }
    let access = try? client?.status().access
    if access?.all == true { return "" }
    return " (those of other users are shown to \(access.map(AccessText.whoSeesAll) ?? "root"))"
  }

  private static func unreachable(_ path: String, _ number: Int32) -> String {
    let reason = SystemError.text(number)
    switch number {
    case EACCES, EPERM:
      return "may not reach crashd at '\(path)' (\(reason)): become root, or join the group of its socket"
    case ENAMETOOLONG:
      return "'\(path)' is too long for a socket (\(reason)): name a shorter one with --socket or CRASHD_SOCKET"
    default:
      return
        "no crashd at '\(path)' (\(reason)): start crashd.socket, or name its socket with --socket or CRASHD_SOCKET"
    }
  }
}

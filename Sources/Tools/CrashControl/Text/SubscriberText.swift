import CrashClient
public import CrashProtocol
internal import CrashReport

/// Formats the table of named subscribers, and selects a subscriber by name.
public enum SubscriberText: Sendable {
  /// Formats subscribers, one line per subscriber.
  public static func list(_ subscribers: [Subscriber], terminal: Terminal, legend: Bool) -> String {
    let columns: [Table.Column] = [
      .init(title: "NAME", minimum: 12, style: .bold),
      .init(title: "UID", alignsRight: true),
      .init(title: "BEHIND", alignsRight: true),
      .init(title: "LAST CAME"),
      .init(title: "CURSOR", minimum: 12, dropOrder: 1, style: .dim),
    ]
    let rows = subscribers.map { subscriber in
      [
        subscriber.name, "\(subscriber.uid)", subscriber.behind.map { "\($0)" } ?? "?",
        terminal.moment(subscriber.time), subscriber.cursor,
      ].map(CleanText.line)
    }
    return Table(columns: columns, rows: rows).text(for: terminal, legend: legend)
  }

  /// Selects the subscriber with this name, and of this user if a uid is given.
  /// - Throws: `Failure` if there is no such subscriber, or if several users have a subscriber of this name and no uid
  ///   is given.
  public static func only(_ name: String, uid: Int?, of subscribers: [Subscriber]) throws(Failure) -> Subscriber {
    let found = subscribers.filter { $0.name == name && (uid == nil || $0.uid == uid) }
    guard let first = found.first else { throw Failure(ClientError.refused(.noSuchSubscriber(name))) }
    guard found.count == 1 else {
      let uids = found.map { "\($0.uid)" }.joined(separator: ", ")
      throw Failure(.usage, "users \(uids) each have a subscriber '\(name)': select one with --uid")
    }
    return first
  }
}

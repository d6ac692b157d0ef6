public import CrashProtocol
public import CrashReport

/// Posts the requests of builds as session aggregates to Sentry: <https://develop.sentry.dev/sdk/telemetry/sessions/>.
///
/// A request is a session. Sentry adds up the numbers that it receives, so the sink sends the increase since its last
/// delivery. The accepted counts are in a file (`SessionBook`), so that the sink continues after a restart.
public struct SentrySessions: HealthSink {
  /// The name in log lines.
  public let name = "sentry-sessions"
  /// The environment; nil uses the program's annotation `environment`.
  public var environment: String?
  /// The release; nil uses the program's annotation `release`, or its name with the build id.
  public var release: String?
  /// The scrubber of names; nil if names are not scrubbed.
  public var scrubber: TextScrubber?

  private let dsn: SentryDSN
  private let http: HTTPClient
  private let book: SessionBook
  /// The counts that Sentry has accepted; nil until the file was read.
  private var accepted: SessionBook.Counts?

  /// Creates a sink for one project.
  ///
  /// The sink keeps the accepted counts in `book`.
  public init(_ dsn: SentryDSN, http: HTTPClient, book: SessionBook) {
    (self.dsn, self.http, self.book) = (dsn, http, book)
  }

  /// The maximum number of items in one envelope.
  static let itemLimit = 100

  /// The sessions of one release and environment.
  struct Aggregate: Equatable {
    var exited = 0
    var errored = 0
    var crashed = 0

    var isEmpty: Bool { exited == 0 && errored == 0 && crashed == 0 }
  }

  struct Attributes: Hashable, Comparable {
    var release: String
    var environment: String

    static func < (left: Attributes, right: Attributes) -> Bool {
      (left.release, left.environment) < (right.release, right.environment)
    }
  }

  /// Posts the increase of the counts since the last delivery.
  ///
  /// The sink commits the counts of each envelope separately. If a later envelope fails, the earlier ones are not sent
  /// again.
  public mutating func deliver(_ builds: [BuildHealth], at time_ns: UInt64) -> Delivery {
    var counts: SessionBook.Counts
    do { counts = try accepted ?? book.read(at: time_ns) } catch {
      return .later("cannot read '\(book.path)': \(error)")
    }
    accepted = counts
    let groups = Dictionary(grouping: builds, by: attributes).sorted { $0.key < $1.key }.map(\.value)
    for start in stride(from: 0, to: groups.count, by: Self.itemLimit) {
      let before = counts
      let sums = take(groups[start..<min(start + Self.itemLimit, groups.count)].flatMap { $0 }, from: &counts)
      guard counts != before else { continue }
      do { try book.prepare(counts) } catch { return .later("cannot write '\(book.path)': \(error)") }
      let delivery = post(sums.filter { !$0.value.isEmpty }.sorted { $0.key < $1.key }, at: time_ns)
      if case .later = delivery { return delivery }
      // Treat refused counts as accepted, too. Otherwise they would be sent again each minute, although Sentry will
      // never accept them.
      accepted = counts
      do { try book.commit() } catch { return .later("\(error)") }
      if case .refused = delivery { return delivery }
    }
    return .delivered
  }

  private func post(_ items: [(key: Attributes, value: Aggregate)], at time_ns: UInt64) -> Delivery {
    guard !items.isEmpty else { return .delivered }
    do {
      let body = try envelope(items.map { ($0.key, $0.value) }, at: time_ns)
      let headers = ["Content-Type: application/x-sentry-envelope", dsn.authorization]
      return http.post(body, to: dsn.envelopeURL, headers: headers).delivery(from: dsn.host)
    } catch { return .refused("cannot encode the sessions: \(error)") }
  }

  /// Returns the increase since `counts`, by release and environment, and updates `counts`.
  func take(_ builds: [BuildHealth], from counts: inout SessionBook.Counts) -> [Attributes: Aggregate] {
    var sums: [Attributes: Aggregate] = [:]
    for build in builds {
      guard let requests = build.requests else { continue }
      let now = SessionBook.Sent(
        firstSeen: build.firstSeen, finished: requests.finished, failed: requests.failed, lost: requests.lost)
      let key = "\(build.uid)/\(build.program)/\(build.build)"
      // The first delivery omits everything that crashd counted before it. If crashd first saw a build after that
      // delivery, or has restarted its count, the whole count of the build is delivered.
      let known = counts.builds[key].flatMap { $0.firstSeen == build.firstSeen ? $0 : nil }
      let isPast = counts.builds[key] == nil && build.firstSeen < counts.since
      let before = known ?? (isPast ? now : SessionBook.Sent(firstSeen: build.firstSeen))
      var sum = sums[attributes(build)] ?? Aggregate()
      sum.exited += max(0, now.finished - before.finished)
      sum.errored += max(0, now.failed - before.failed)
      sum.crashed += max(0, now.lost - before.lost)
      sums[attributes(build)] = sum
      counts.builds[key] = now
    }
    return sums
  }

  private func attributes(_ build: BuildHealth) -> Attributes {
    let scrub = { (text: String) in scrubber?.scrub(text) ?? text }
    let own = "\(build.program)@\(build.build.prefix(12))"
    return Attributes(
      // Sentry does not accept slashes in a release.
      release: (release ?? scrub(build.release ?? own)).replacing("/", with: "-"),
      environment: environment ?? build.environment.map(scrub) ?? "")
  }

  private func envelope(_ items: [(Attributes, Aggregate)], at time_ns: UInt64) throws -> [UInt8] {
    let minute = time_ns / 60_000_000_000 * 60_000_000_000
    let end = UInt8(ascii: "\n")
    var bytes = try JSONValue.object(["sent_at": .string(Timestamp.string(since1970_ns: time_ns))]).encoded() + [end]
    for (attributes, sum) in items {
      let item = try JSONValue.object([
        "aggregates": .array([
          .object([
            "started": .string(Timestamp.string(since1970_ns: minute)), "exited": .int(sum.exited),
            "errored": .int(sum.errored), "crashed": .int(sum.crashed),
          ])
        ]),
        "attrs": .object(known: [
          "release": .string(attributes.release), "environment": .text(attributes.environment),
        ]),
      ]).encoded()
      bytes += try JSONValue.object(["type": .string("sessions"), "length": .int(item.count)]).encoded() + [end]
      bytes += item + [end]
    }
    return bytes
  }
}

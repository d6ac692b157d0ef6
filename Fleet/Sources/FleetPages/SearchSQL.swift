internal import CrashPages
internal import CrashProtocol
internal import FleetStore

/// The conditions of a search as SQL.
///
/// Strings of a search become parameters, and are never inserted into SQL.
enum SearchSQL {
  /// The parameters $2 to $17 of the conditions below.
  static func parameters(_ search: Search) -> Parameters {
    let filter = search.filter
    let words = (search.text ?? "").split(separator: " ").map { clean(String($0)) }
    let sets: Parameters = .texts(search.states ?? []) + .texts(words)
    let first = [filter.name, filter.signal, search.cause, filter.group, search.build, search.host]
    let texts = first + [filter.release, filter.environment, filter.unit, filter.route, filter.since, filter.until]
    let all = texts.reduce(sets) { $0 + .optionalText($1.map(clean)) }
    // A machine id has 32 digits, with or without hyphens.
    let machine = search.host.flatMap(FleetStore.machine)
    return all + (filter.group.flatMap(issueNumber).map(Parameters.int64) ?? .null)
      + (machine.map(Parameters.uuid) ?? .null)
  }

  /// Replaces null characters, which PostgreSQL's texts cannot contain.
  private static func clean(_ text: String) -> String { text.replacing("\0", with: "\u{fffd}") }

  /// Returns the number of an issue; nil for a text that PostgreSQL does not write for a number, such as `+1`.
  private static func issueNumber(_ text: String) -> Int64? { Int64(text).flatMap { String($0) == text ? $0 : nil } }

  /// Refuses search terms that need whole reports, for pages whose numbers come from counters.
  ///
  /// Such a term would only select issues, and the numbers would include the crashes of these issues on other hosts and
  /// in other requests.
  static func checkCounted(_ search: Search) throws(SourceError) {
    let filter = search.filter
    let terms: [(SearchTerm, String?)] = [
      (.host, search.host), (.release, filter.release), (.environment, filter.environment), (.unit, filter.unit),
      (.route, filter.route),
    ]
    for (term, value) in terms where value != nil {
      throw .invalidSearch(
        "'\(term.rawValue)' selects crashes, and this page shows sums over all crashes of an issue; search for it under"
          + " Crashes")
    }
  }

  /// The parameters $2 to $4 for `program_hour`: the program and the times.
  ///
  /// Returns nil for a search that selects only some issues of its programs.
  static func programParameters(_ search: Search) -> Parameters? {
    let filter = search.filter
    let others = [search.text, filter.signal, search.cause, filter.group, search.build]
    guard search.states?.isEmpty ?? true, others.allSatisfy({ $0?.isEmpty ?? true }) else { return nil }
    return [filter.name, filter.since, filter.until].reduce(Parameters()) { $0 + .optionalText($1.map(clean)) }
  }

  /// The number of the first parameter after those of a search.
  static let next = 18

  /// Selects issues `i` of the tenant $1.
  static let issues = """
    i.tenant = $1::int and i.crashes > 0
    and (cardinality($2::text[]) = 0 or i.state = any ($2::text[]))
    and not exists (select from unnest($3::text[]) word where strpos(lower(i.title), lower(word)) = 0)
    and ($4::text is null or strpos(lower(i.program), lower($4::text)) > 0)
    and ($5::text is null or i.signal = $5::text)
    and ($6::text is null or i.cause = $6::text)
    and ($7::text is null or \(group))
    and (coalesce($8::text, $14::text, $15::text) is null or exists (
      select from alias a join alias_build t on t.alias = a.id join build b on b.id = t.build
      where a.issue = i.id and t.crashes > 0 and \(build)
        and ($14::text is null or t.last_hour >= date_trunc('hour', $14::timestamptz))
        and ($15::text is null or t.first_hour <= $15::timestamptz)
        and ($14::text is null or $15::text is null or exists (
          select from alias_hour h where h.alias = a.id and h.build = b.id and \(hours)))))
    and ($9::text is null or exists (
      select from alias a join alias_host p on p.alias = a.id join host o on o.id = p.host
      where a.issue = i.id and \(host)))
    and (coalesce($10::text, $11::text, $12::text, $13::text) is null or exists (
      select from alias a join report r on r.alias = a.id where a.issue = i.id and \(facts)))
    """

  /// The time by which lists sort a report `r`.
  ///
  /// A host cannot set it to the future.
  ///
  /// Indexes contain this expression.
  static let time = "least(r.time, r.received)"

  /// Selects hours `h` with their build `b`.
  static let hours = "\(build) and \(times)"

  /// Selects builds `b`.
  static let build = "($8::text is null or starts_with(b.build, $8::text))"

  /// Selects hours `h` of all builds.
  static let times = """
    ($14::text is null or h.hour >= date_trunc('hour', $14::timestamptz))
    and ($15::text is null or h.hour <= $15::timestamptz)
    """

  /// Selects reports `r` of the tenant $1, with their issue `i`, build `b` and host `o`, by all terms of the search
  /// except the group.
  static let reports = """
    r.tenant = $1::int
    and (cardinality($2::text[]) = 0 or i.state = any ($2::text[]))
    and not exists (select from unnest($3::text[]) word where strpos(lower(i.title), lower(word)) = 0)
    and ($4::text is null or strpos(lower(b.program), lower($4::text)) > 0)
    and ($5::text is null or r.signal = $5::text)
    and ($6::text is null or r.cause = $6::text)
    and \(build)
    and ($9::text is null or \(host))
    and \(facts)
    and ($14::text is null or \(time) >= $14::timestamptz)
    and ($15::text is null or \(time) <= $15::timestamptz)
    """

  /// Selects issues `i` by the number, or by the whole key of one of their groups.
  ///
  /// A host chooses the keys of its groups. If such a key is also the number of an issue, the search selects only the
  /// issue with this number.
  static let group = """
    i.id in (
      select n.id from issue n where n.tenant = $1::int and n.id = $16::bigint
      union all
      select k.issue from alias k where k.tenant = $1::int and k.key = $7::text
        and not exists (select from issue n where n.tenant = $1::int and n.id = $16::bigint))
    """

  /// Selects hosts `o`.
  static let host = "(o.name = $9::text or o.machine = $17::uuid)"

  private static let facts = """
    ($10::text is null or r.release = $10::text) and ($11::text is null or r.environment = $11::text)
    and ($12::text is null or r.unit = $12::text) and ($13::text is null or r.route = $13::text)
    """
}

import CrashClient
import CrashPages
import CrashProtocol

/// Finds groups by the words of their titles, which crashd's filter cannot do.
struct TitleSearch {
  /// The maximum number of groups that a search reads.
  private static let limit = 10_000
  private static let page = 500

  var client: CrashClient
  var text: String

  /// Returns the groups of one page of the search result.
  func groups(_ query: inout GroupQuery, _ filter: ReportFilter, offset: Int) throws(ClientError) -> [ReportGroup] {
    let words = text.lowercased().split(separator: " ")
    let wanted = offset + (query.limit ?? 0)
    var found: [ReportGroup] = []
    (query.limit, query.offset) = (Self.page, 0)
    while found.count < wanted, let start = query.offset, start < Self.limit {
      let groups = try client.groups(query, filter)
      found += groups.filter { group in
        let title = group.title.lowercased()
        return words.allSatisfy(title.contains)
      }
      if groups.isEmpty { break }
      query.offset = start + groups.count
    }
    return Array(found.dropFirst(offset).prefix(wanted - offset))
  }
}

/// Counts the values of each property in the newest events of an issue.
enum Distributions {
  static func of(_ events: [ReportSummary], isSample: Bool) -> [IssueDetail.Distribution] {
    let properties: [(SearchTerm, (ReportSummary) -> String?)] = [
      (.release, \.release), (.environment, \.environment), (.signal, \.signal), (.route, \.route), (.pod, \.pod),
      (.unit, \.unit), (.program, \.name),
    ]
    return properties.compactMap { term, value in
      var counts: [String: Int] = [:]
      for event in events { if let value = value(event), !value.isEmpty { counts[value, default: 0] += 1 } }
      let values = counts.map { IssueDetail.Value(value: $0.key, count: $0.value) }
        .sorted { ($1.count, $0.value) < ($0.count, $1.value) }
      return values.isEmpty
        ? nil : IssueDetail.Distribution(property: term.rawValue, values: values, sample: isSample ? events.count : nil)
    }
  }
}

/// Sums the crashes of groups by build.
struct BuildTable {
  /// The number of most recently seen groups that the table includes.
  static let groupLimit = 50

  private var builds: [String: BuildSummary] = [:]

  mutating func add(_ group: ReportGroup, _ added: [GroupDetail.Build]) {
    for item in added where !item.build.isEmpty {
      var build =
        builds[item.build]
        ?? BuildSummary(
          programs: [], build: item.build, count: 0, issues: 0, newIssues: 0, first: item.first, last: item.last)
      build.programs = Array(Set(build.programs + group.names).sorted().prefix(8))
      if group.lastBuild == item.build, let release = group.lastRelease { build.release = release }
      if group.firstBuild == item.build {
        build.newIssues += 1
        if build.release == nil { build.release = group.firstRelease }
      }
      build.count &+= item.count
      build.issues += 1
      build.first = min(build.first, item.first)
      build.last = max(build.last, item.last)
      builds[item.build] = build
    }
  }

  /// The builds, sorted by the time of their first crash, newest first.
  var summaries: [BuildSummary] { builds.values.sorted { ($1.first, $0.build) < ($0.first, $1.build) } }
}

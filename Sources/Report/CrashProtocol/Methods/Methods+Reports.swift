package import CrashReport

// Defines the methods for reports and groups.
extension Methods {
  static let ofReports: [any Method.Type] = [
    List.self, Get.self, Groups.self, GetGroup.self, ContrastGroup.self, Hours.self, ResolveGroup.self, Explain.self,
    Reanalyse.self, Import.self, Prune.self, Remove.self,
  ]

  package enum List: Method {
    package typealias Parameters = ListQuery
    package typealias Reply = ReportPage
  }

  package enum Get: Method {
    package struct Parameters: Codable, Sendable {
      package var id: String?
      package var raw: Bool?
      package var stacks: Bool?
      package var scrub: Bool?

      package init(id: String? = nil, raw: Bool? = nil, stacks: Bool? = nil, scrub: Bool? = nil) {
        (self.id, self.raw, self.stacks, self.scrub) = (id, raw, stacks, scrub)
      }
    }

    package typealias Reply = GetReply<ReceivedReport>
    package typealias Sent = GetReply<JSONFragment>
  }

  package enum Groups: Method {
    package typealias Parameters = Joined<GroupQuery, ReportFilter>
    package struct Reply: Codable, Sendable {
      package var groups: [ReportGroup]

      package init(groups: [ReportGroup]) { self.groups = groups }
    }
  }

  package enum GetGroup: Method {
    package struct Parameters: Codable, Sendable {
      package var key: String

      package init(key: String) { self.key = key }
    }

    package typealias Reply = GroupDetail
  }

  package enum ContrastGroup: Method {
    package typealias Parameters = GetGroup.Parameters
    package typealias Reply = GroupContrast
  }

  package enum Hours: Method {
    package struct Own: Codable, Sendable {
      package var groups: [String]?

      package init(groups: [String]? = nil) { self.groups = groups }
    }

    package typealias Parameters = Joined<Own, ReportFilter>
    package struct Reply: Codable, Sendable {
      package var hours: [HourCount]

      package init(hours: [HourCount]) { self.hours = hours }
    }
  }

  package enum ResolveGroup: Method {
    package struct Parameters: Codable, Sendable {
      package var key: String
      package var resolved: Bool

      package init(key: String, resolved: Bool) { (self.key, self.resolved) = (key, resolved) }
    }

    package struct Reply: Codable, Sendable {
      package var key: String

      package init(key: String) { self.key = key }
    }
  }

  package enum Explain: Method {
    package typealias Parameters = OptionalID
    package typealias Reply = Explanation
  }

  package enum Reanalyse: Method {
    package typealias Parameters = OptionalID
    package typealias Reply = ReanalyseReply<ReceivedReport>
    package typealias Sent = ReanalyseReply<CrashReport>
  }

  package enum Import: Method {
    package struct Parameters: Codable, Sendable {
      package var record: String

      package init(record: String) { self.record = record }
    }

    package typealias Reply = ImportedRecord
  }

  package enum Prune: Method {
    package struct Parameters: Codable, Sendable {
      package var before: String
      package var dryRun: Bool?
      package var limit: Int?

      package init(before: String, dryRun: Bool? = nil, limit: Int? = nil) {
        (self.before, self.dryRun, self.limit) = (before, dryRun, limit)
      }
    }

    package struct Reply: Codable, Sendable {
      package var removed: Int

      package init(removed: Int) { self.removed = removed }
    }
  }

  package enum Remove: Method {
    package struct Parameters: Codable, Sendable {
      package var ids: [String]

      package init(ids: [String]) { self.ids = ids }
    }

    package struct Reply: Codable, Sendable {
      package var removed: [String]

      package init(removed: [String]) { self.removed = removed }
    }
  }
}

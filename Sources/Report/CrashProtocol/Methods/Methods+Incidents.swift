package import CrashReport

// Defines the methods for incidents and for use-after-free protection.
extension Methods {
  static let ofIncidents: [any Method.Type] = [
    Incidents.self, TopIncidents.self, DanglingGroups.self, ProtectedClasses.self, DanglingPolicies.self,
    DanglingClasses.self, DanglingEvents.self, DanglingProtect.self, DanglingRelease.self, DanglingReset.self,
    PolicySet.self, GuardModes.self, GuardSet.self,
  ]

  package enum Incidents: Method {
    package typealias Parameters = IncidentQuery
    package struct Reply: Codable, Sendable {
      package var incidents: [IncidentReport]
      package var cursor: String?
      package var lost: Int?

      package init(incidents: [IncidentReport], cursor: String? = nil, lost: Int? = nil) {
        (self.incidents, self.cursor, self.lost) = (incidents, cursor, lost)
      }
    }
  }

  package enum TopIncidents: Method {
    package struct Own: Codable, Sendable {
      package var limit: Int?
      package var by: String?

      package init(limit: Int? = nil, by: String? = nil) { (self.limit, self.by) = (limit, by) }
    }

    package typealias Parameters = Joined<Own, IncidentFilter>
    package struct Reply: Codable, Sendable {
      package var sums: [IncidentSum]

      package init(sums: [IncidentSum]) { self.sums = sums }
    }
  }

  package enum ProtectedClasses: Method {
    package struct Parameters: Codable, Sendable {
      package var pid: Int?
      package var name: String?

      package init(pid: Int? = nil, name: String? = nil) { (self.pid, self.name) = (pid, name) }
    }

    package struct Reply: Codable, Sendable {
      package var classes: [ProtectedClassReport]

      package init(classes: [ProtectedClassReport]) { self.classes = classes }
    }
  }

  package enum DanglingGroups: Method {
    package struct Parameters: Codable, Sendable {
      package var limit: Int?
      package var offset: Int?
      package var name: String?
      package var since: String?

      package init(limit: Int? = nil, offset: Int? = nil, name: String? = nil, since: String? = nil) {
        (self.limit, self.offset, self.name, self.since) = (limit, offset, name, since)
      }
    }

    package struct Reply: Codable, Sendable {
      package var groups: [DanglingGroup]

      package init(groups: [DanglingGroup]) { self.groups = groups }
    }
  }

  package enum DanglingPolicies: Method {
    package typealias Parameters = OptionalName
    package struct Reply: Codable, Sendable {
      package var services: [DanglingPolicyReport]

      package init(services: [DanglingPolicyReport]) { self.services = services }
    }
  }

  package enum DanglingClasses: Method {
    package typealias Parameters = OptionalName
    package struct Reply: Codable, Sendable {
      package var classes: [DanglingClass]

      package init(classes: [DanglingClass]) { self.classes = classes }
    }

    package struct Sent: Encodable, Sendable {
      package var classes: [Erased]

      package init(classes: [Erased]) { self.classes = classes }
    }
  }

  package enum DanglingEvents: Method {
    package struct Parameters: Codable, Sendable {
      package var name: String?
      package var limit: Int?

      package init(name: String? = nil, limit: Int? = nil) { (self.name, self.limit) = (name, limit) }
    }

    package struct Reply: Codable, Sendable {
      package var events: [DanglingEventReport]

      package init(events: [DanglingEventReport]) { self.events = events }
    }
  }

  package enum DanglingProtect: Method {
    package struct Parameters: Codable, Sendable {
      package var `class`: String
      package var limit: Int?
      package var mode: String?
      package var name: String?
      package var force: Bool?

      package init(`class`: String, limit: Int? = nil, mode: String? = nil, name: String? = nil, force: Bool? = nil) {
        (self.`class`, self.limit, self.mode, self.name, self.force) = (`class`, limit, mode, name, force)
      }
    }

    package typealias Reply = DanglingChange
  }

  package enum DanglingRelease: Method {
    package struct Parameters: Codable, Sendable {
      package var `class`: String
      package var name: String?
      package var force: Bool?

      package init(`class`: String, name: String? = nil, force: Bool? = nil) {
        (self.`class`, self.name, self.force) = (`class`, name, force)
      }
    }

    package typealias Reply = DanglingChange
  }

  package enum DanglingReset: Method {
    package struct Parameters: Codable, Sendable {
      package var `class`: String
      package var name: String?

      package init(`class`: String, name: String? = nil) { (self.`class`, self.name) = (`class`, name) }
    }

    package typealias Reply = DanglingChange
  }

  package enum PolicySet: Method {
    package struct Own: Codable, Sendable {
      package var name: String

      package init(name: String) { self.name = name }
    }

    package typealias Parameters = Joined<Own, DanglingRules>
    package typealias Reply = DanglingChange
  }

  package enum GuardModes: Method {
    package typealias Parameters = OptionalName
    package struct Reply: Codable, Sendable {
      package var services: [GuardService]

      package init(services: [GuardService]) { self.services = services }
    }
  }

  package enum GuardSet: Method {
    package struct Parameters: Codable, Sendable {
      package var kind: String?
      package var mode: String
      package var implicit: Bool?
      package var name: String?

      package init(kind: String? = nil, mode: String, implicit: Bool? = nil, name: String? = nil) {
        (self.kind, self.mode, self.implicit, self.name) = (kind, mode, implicit, name)
      }
    }

    package typealias Reply = DanglingChange
  }
}

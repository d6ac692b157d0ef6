// Defines the methods for attached processes, and for crashd itself.
extension Methods {
  static let ofService: [any Method.Type] = [Processes.self, AwaitProcess.self, Status.self, Metrics.self]

  package enum Processes: Method {
    package typealias Parameters = NoParameters
    package struct Reply: Codable, Sendable {
      package var processes: [ProcessSummary]

      package init(processes: [ProcessSummary]) { self.processes = processes }
    }
  }

  package enum AwaitProcess: Method {
    package struct Parameters: Codable, Sendable {
      package var pid: Int
      package var timeout_ms: Int?

      package init(pid: Int, timeout_ms: Int? = nil) { (self.pid, self.timeout_ms) = (pid, timeout_ms) }
    }

    package typealias Reply = ProcessOutcome
  }

  package enum Status: Method {
    package typealias Parameters = NoParameters
    package typealias Reply = DaemonStatus
  }

  package enum Metrics: Method {
    package typealias Parameters = NoParameters
    package struct Reply: Codable, Sendable {
      package var text: String

      package init(text: String) { self.text = text }
    }
  }
}

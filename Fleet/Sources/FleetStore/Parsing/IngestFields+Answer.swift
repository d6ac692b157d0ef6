extension IngestFields {
  /// The answer of a host to an ask (a request of the fleet).
  struct Answer {
    private var ask: Int64?
    private var outcome: String?

    init(_ scanner: inout JSONScanner, depth: Int) throws(IngestProblem) {
      var ask: Int64?
      var outcome: String?
      try scanner.members("answer", depth: depth) { (scanner, key) throws(IngestProblem) in
        switch key {
        case "ask": ask = try scanner.integer("answer.ask")
        case "outcome": outcome = try scanner.text("answer.outcome", limit: Limit.key)
        default: try scanner.skip(depth: depth + 1)
        }
      }
      (self.ask, self.outcome) = (ask, outcome)
    }

    func answer(sender: Host?) throws(IngestProblem) -> IncomingAnswer {
      guard let ask, ask > 0 else { throw IngestProblem(.invalid, "'answer.ask' must be the number of an ask") }
      guard let outcome = outcome.flatMap(IncomingAnswer.Outcome.init) else {
        throw IngestProblem(.invalid, "'answer.outcome' must be one of the outcomes in docs/fleet.md")
      }
      return IncomingAnswer(host: try IngestFields.host(sender, nil), ask: ask, outcome: outcome)
    }
  }
}

/// What clients see of what an operator said of a program's guards.
struct GuardServiceView: Encodable, Sendable {
  var uid: Int
  var name: String
  var program: String
  var modes: [String: String]
  var implicitModes: [String: String]
  /// Attached processes, those that have done what they were told, and what another one said, if any did.
  var processes: Int
  var obeying: Int
  var refusal: String?
}

// What an operator says of guards. It is kept where what he says of dead objects is, and stronger than the program's
// own word.
extension PolicyKeeper {
  /// Sets the mode of kinds; nil: the program decides again.
  func setGuards(_ keys: [ServiceKey], _ kinds: [String], to mode: GuardMode?, isImplicit: Bool, _ text: String) {
    for key in keys {
      guard let before = services[key].map({ $0.policy.guards ?? GuardWords() }) else { continue }
      var words = before
      words.set(mode, of: kinds, isImplicit: isImplicit)
      guard words != before else { continue }
      services[key]?.policy.guards = words.isEmpty ? nil : words
      note(key, text)
      board.set(services[key]?.policy.plan, for: key)
    }
  }

  func guardViews(_ keys: [ServiceKey]) -> [GuardServiceView] {
    keys.compactMap { key in
      guard let service = services[key] else { return nil }
      let words = service.policy.guards ?? GuardWords()
      let plan = board.plan(of: key)
      let outcomes = service.processes.values.map(\.outcome.now).filter { !$0.isOver }
      return GuardServiceView(
        uid: Int(key.uid), name: service.policy.name, program: key.program, modes: words.modes,
        implicitModes: words.implicitModes, processes: outcomes.count,
        obeying: outcomes.count { $0.obeys(plan, about: .guards) },
        refusal: outcomes.compactMap(\.guardsRefused).min())
    }
  }
}

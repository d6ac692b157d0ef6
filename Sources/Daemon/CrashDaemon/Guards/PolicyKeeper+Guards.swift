import CrashProtocol

// Sets the operator's guard modes. They are stored together with the operator's overrides for the quarantine. Both take
// precedence over the program's own settings.
extension PolicyKeeper {
  /// Sets the mode of the given kinds of guards for services.
  ///
  /// If the mode is nil, the program's own modes apply again.
  func setGuards(
    _ keys: [ServiceKey], _ kinds: [String], to mode: GuardMode?, isImplicit: Bool, _ text: String,
    by uid: UInt32? = nil
  ) {
    for key in keys {
      guard let before = services[key].map({ $0.policy.guards ?? GuardWords() }) else { continue }
      var words = before
      words.set(mode, of: kinds, isImplicit: isImplicit)
      guard words != before else { continue }
      services[key]?.policy.guards = words.isEmpty ? nil : words
      note(key, text, by: uid)
      board.set(services[key]?.policy.plan, for: key)
    }
  }

  func guardServices(_ keys: [ServiceKey]) -> [GuardService] {
    keys.compactMap { key in
      guard let service = services[key] else { return nil }
      let words = service.policy.guards ?? GuardWords()
      let plan = board.plan(of: key)
      let outcomes = service.processes.values.map(\.outcome.now).filter { !$0.isOver }
      return GuardService(
        uid: Int(key.uid), name: service.policy.name, program: key.program, modes: words.modes,
        implicitModes: words.implicitModes, processes: outcomes.count,
        applied: outcomes.count { $0.obeys(plan, about: .guards) },
        refusal: outcomes.compactMap(\.guardsRefused).min())
    }
  }
}

import CrashReport

// Handles the fleet's requests (asks) to protect classes against use-after-free.
extension FleetRunner {
  /// The maximum number of different refusal reasons that are logged as notices.
  private static let reasonLimit = 64

  /// Asks crashd to protect the classes that the fleet asked for, and sends the answers.
  func protectClasses(_ work: inout Work, _ host: FleetHost) {
    asks: for (ask, program, className) in work.asks.protections {
      guard work.asks.beginsAttempt(ask, at: around.now()) else { continue }
      let what = CleanText.line("protection of \(className) in \(program) (ask \(ask))")
      switch protection.protect(className, of: program) {
      case .protected:
        around.log(.notice, "\(Self.name): the fleet asked for \(what); crashd protects it until it is reset")
        work.batch.add(answer: ask, "protected")
      case .alreadyProtected:
        around.log(.debug, "\(Self.name): the fleet asked for \(what), which crashd protects already")
        work.batch.add(answer: ask, "protected")
      case .refused(let why):
        logRefusal(of: what, why, &work)
        around.board.change(Self.name) { $0.refusedAsks += 1 }
        work.batch.add(answer: ask, "refused")
      case .later(let why):
        // Do not answer: the next response of the fleet contains the ask again.
        around.log(.debug, "\(Self.name): no \(what) yet: \(why)")
        continue
      case .unanswered(let why):
        around.log(.debug, "\(Self.name): no \(what) yet: \(why)")
        break asks
      }
      work.asks.markAnswered(ask)
    }
    if work.batch.answers.isEmpty { return }
    // If the fleet does not commit the answers now, they are a part of the next batch.
    guard let body = try? work.batch.body(host, stream: ""), case .committed = client.send(body) else { return }
    work.batch.markSent()
  }

  /// Logs each reason once as a notice, and further times only for debugging, because a fleet can send asks without
  /// end.
  private func logRefusal(of what: String, _ why: String, _ work: inout Work) {
    let isNew = work.loggedReasons.count < Self.reasonLimit && work.loggedReasons.insert(why).inserted
    around.log(isNew ? .notice : .debug, "\(Self.name): refused the \(what): \(why)")
  }
}

import CrashReport

// Answers the fleet's asks for the protection of classes.
extension FleetRunner {
  /// Asks crashd to protect the classes that the fleet asked for, and sends the answers.
  func protectClasses(_ work: inout Work, _ host: FleetHost) {
    for (ask, program, className) in work.asks.protections {
      let what = CleanText.line("protection of \(className) in \(program) (ask \(ask))")
      switch protection.protect(className, of: program) {
      case .protected:
        around.log(.notice, "\(Self.name): the fleet asked for \(what); crashd protects it until it is reset")
        work.batch.add(answer: ask, "protected")
      case .refused(let why):
        around.log(.notice, "\(Self.name): refused the \(what): \(why)")
        around.board.change(Self.name) { $0.refusedAsks += 1 }
        work.batch.add(answer: ask, "refused")
      case .later(let why):
        // The next answer of the fleet contains the ask again.
        around.log(.debug, "\(Self.name): no \(what) yet: \(why)")
        continue
      }
      work.asks.markAnswered(ask)
    }
    if work.batch.answers.isEmpty { return }
    // If the fleet does not commit the answers now, they are a part of the next batch.
    guard let body = try? work.batch.body(host, stream: ""), case .committed = client.send(body) else { return }
    work.batch.markSent()
  }
}

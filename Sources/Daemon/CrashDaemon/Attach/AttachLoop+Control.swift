// Sends plans and other control messages to processes. A plan states which classes a process must protect against
// use-after-free, and sets the modes of its guards.
extension AttachLoop {
  /// Sends each process two things if they have changed: its plan, and whether crashd is allowed to store its memory.
  mutating func control() {
    let (version, rules) = (configuration.board.version, configuration.settings.current.noMemory)
    guard version != boardVersion || rules != memoryRules else { return }
    (boardVersion, memoryRules) = (version, rules)
    for (number, connection) in connections {
      guard let process = connection.process, let socket = connection.socket, !connection.isSuperseded else { continue }
      let plan = configuration.board.plan(of: ServiceKey(process.facts))
      let isWithheld = rules.hold(for: process.facts)
      guard plan != connection.control.plan || isWithheld != connection.control.isWithheld else { continue }
      connections[number]?.control.take(plan, isWithheld: isWithheld, outcome: process.control)
      connections[number]?.control.send(to: socket)
    }
  }

  /// Sends processes the messages about the last crash of their program, which the pipeline made from stored reports.
  mutating func tellLastCrashes() {
    for (number, notice) in configuration.lastCrashes.take() {
      guard let connection = connections[number], connection.process != nil, let socket = connection.socket,
        !connection.isSuperseded
      else { continue }
      connections[number]?.control.add(notice)
      connections[number]?.control.send(to: socket)
    }
  }

  /// Handles a process's answer to a control message, and sends the next messages.
  mutating func take(_ answer: ControlAnswer, of process: AttachedProcess, _ number: UInt64) {
    guard let socket = connections[number]?.socket,
      connections[number]?.control.take(answer, outcome: process.control) == true
    else {
      configuration.ledger.refuse("message", from: process.facts.peer, because: "the answer is not for a sent message")
      close(number)
      return
    }
    connections[number]?.control.send(to: socket)
  }
}

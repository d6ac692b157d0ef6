import CShimRing

/// Control messages on their way to one process: never more of them unanswered than fit into its socket.
struct ControlQueue {
  private struct Message {
    var number: UInt32
    /// What crashd said together.
    var round: UInt32
    var subject: String
    var kind: cs_control_kind
    var payload: [UInt8]
  }

  private static let window = Int(CS_CONTROL_UNANSWERED_LIMIT)

  private(set) var plan: ControlPlan?
  /// Nothing of its memory is to be kept: no part of the plan, which is one for all processes of a program.
  private(set) var isWithheld = false
  private var waiting: ArraySlice<Message> = []
  private var unanswered: [UInt32: Message] = [:]
  private var nextNumber: UInt32 = 1
  private var round: UInt32 = 0

  /// How many messages go out at once.
  var firstCount: Int { min(waiting.count, Self.window - min(unanswered.count, Self.window)) }

  /// Takes another plan; what still waits of the last one is left out, as the new one says everything again.
  mutating func take(_ plan: ControlPlan?, isWithheld: Bool = false, outcome: ControlOutcome) {
    (self.plan, self.isWithheld) = (plan, isWithheld)
    // Different from every round that an earlier crashd may have begun.
    round = UInt32.random(in: 1...UInt32.max)
    waiting = []
    // First of all: a process may crash any moment.
    let withhold = isWithheld ? [ControlPlan.withhold(round: round)] : []
    for message in withhold + ControlPlan.messages(of: plan, round: round) {
      waiting.append(
        Message(
          number: nextNumber, round: round, subject: message.subject, kind: message.kind, payload: message.payload))
      nextNumber &+= 1
    }
    outcome.begin(plan)
  }

  /// Sends what may be sent now.
  mutating func send(to socket: AttachSocket) {
    while unanswered.count < Self.window, let message = waiting.first {
      let bytes = ControlPlan.message(message.kind, number: message.number, payload: message.payload)
      // A full socket: the next answer makes room.
      guard socket.send(bytes) else { return }
      waiting.removeFirst()
      unanswered[message.number] = message
    }
  }

  /// Takes an answer; false: to no message.
  mutating func take(_ answer: ControlAnswer, outcome: ControlOutcome) -> Bool {
    guard let message = unanswered.removeValue(forKey: answer.number) else { return false }
    // What was said before is over, and so is what the process said to it.
    guard message.round == round else { return true }
    outcome.note(
      answer, of: message.subject, message.kind, isLast: message.kind == .CS_CONTROL_SWEEP && waiting.isEmpty)
    return true
  }
}

import CShimRing

/// The control messages for one process.
///
/// It keeps at most as many messages unanswered as fit into the process's socket.
struct ControlQueue {
  private struct Message {
    var number: UInt32
    /// The round that the message belongs to.
    var round: UInt32
    var subject: String
    var kind: cs_control_kind
    var payload: [UInt8]
  }

  private static let window = Int(CS_CONTROL_UNANSWERED_LIMIT)

  private(set) var plan: ControlPlan?
  /// Whether none of the process's memory may be stored.
  ///
  /// This is not part of the plan, which all processes of a program share.
  private(set) var isWithheld = false
  private var waiting: ArraySlice<Message> = []
  private var unanswered: [UInt32: Message] = [:]
  private var nextNumber: UInt32 = 1
  private var round: UInt32 = 0

  /// The number of messages that can be sent at once.
  var firstCount: Int { min(waiting.count, Self.window - min(unanswered.count, Self.window)) }

  /// Replaces the plan.
  ///
  /// Unsent messages of the last plan are dropped, because the new plan repeats everything.
  mutating func take(_ plan: ControlPlan?, isWithheld: Bool = false, outcome: ControlOutcome) {
    (self.plan, self.isWithheld) = (plan, isWithheld)
    // A random round differs, with high probability, from every round that an earlier crashd began.
    round = UInt32.random(in: 1...UInt32.max)
    waiting = waiting.filter { $0.kind == .CS_CONTROL_LAST_CRASH }
    // The withhold message is sent first, because the process may crash at any moment.
    let withhold = isWithheld ? [ControlPlan.withhold(round: round)] : []
    for message in withhold + ControlPlan.messages(of: plan, round: round) {
      waiting.append(
        Message(
          number: nextNumber, round: round, subject: message.subject, kind: message.kind, payload: message.payload))
      nextNumber &+= 1
    }
    outcome.begin(plan)
  }

  /// Adds a notice of the last crash, which is not part of a plan.
  mutating func add(_ notice: LastCrashNotice) {
    let message = notice.message
    waiting.append(
      Message(
        number: nextNumber, round: round, subject: message.subject, kind: message.kind, payload: message.payload))
    nextNumber &+= 1
  }

  /// Sends waiting messages, up to the limit of unanswered messages.
  mutating func send(to socket: AttachSocket) {
    while unanswered.count < Self.window, let message = waiting.first {
      let bytes = ControlPlan.message(message.kind, number: message.number, payload: message.payload)
      // The socket is full. The next answer makes room and continues sending.
      guard socket.send(bytes) else { return }
      waiting.removeFirst()
      unanswered[message.number] = message
    }
  }

  /// Handles an answer; false if no message with its number is unanswered.
  mutating func take(_ answer: ControlAnswer, outcome: ControlOutcome) -> Bool {
    guard let message = unanswered.removeValue(forKey: answer.number) else { return false }
    // An answer to an earlier round is obsolete, and an answer to a notice belongs to no round. Neither changes the
    // outcome.
    guard message.round == round, message.kind != .CS_CONTROL_LAST_CRASH else { return true }
    // The sweep message is the last of its round.
    outcome.note(answer, of: message.subject, message.kind, isLast: message.kind == .CS_CONTROL_SWEEP)
    return true
  }
}

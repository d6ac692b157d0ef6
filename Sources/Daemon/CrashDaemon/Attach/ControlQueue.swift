import CShimRing

/// The control messages for one process.
///
/// Most of them transmit the plan: which classes the process must protect, and the modes of its guards.
///
/// The number of unanswered messages is limited, so that all unanswered messages fit into the socket's buffer.
struct ControlQueue {
  private struct Message {
    var number: UInt32
    /// The number of the round to which the message belongs; a round consists of the messages of one plan.
    var round: UInt32
    var subject: String
    var kind: cs_control_kind
    var payload: [UInt8]
  }

  private static let window = Int(CS_CONTROL_UNANSWERED_LIMIT)

  private(set) var plan: ControlPlan?
  /// Whether crashd must not store any memory of the process.
  ///
  /// This value is not part of the plan, because all processes of a program have the same plan.
  private(set) var isWithheld = false
  private var waiting: ArraySlice<Message> = []
  private var unanswered: [UInt32: Message] = [:]
  private var nextNumber: UInt32 = 1
  private var round: UInt32 = 0

  /// The number of messages that can be sent now.
  var firstCount: Int { min(waiting.count, Self.window - min(unanswered.count, Self.window)) }

  /// Replaces the plan of the process.
  ///
  /// Unsent messages of the former plan are dropped, because the new plan contains all settings.
  mutating func take(_ plan: ControlPlan?, isWithheld: Bool = false, outcome: ControlOutcome) {
    (self.plan, self.isWithheld) = (plan, isWithheld)
    // Use a random round number, which very probably differs from the number of every round that an earlier crashd
    // began.
    round = UInt32.random(in: 1...UInt32.max)
    waiting = waiting.filter { $0.kind == .CS_CONTROL_LAST_CRASH }
    // Send the message that withholds memory first, because the process can crash at any time.
    let withhold = isWithheld ? [ControlPlan.withhold(round: round)] : []
    for message in withhold + ControlPlan.messages(of: plan, round: round) {
      waiting.append(
        Message(
          number: nextNumber, round: round, subject: message.subject, kind: message.kind, payload: message.payload))
      nextNumber &+= 1
    }
    outcome.begin(plan)
  }

  /// Adds a message about the last crash of the process's program.
  ///
  /// The message is not part of a plan.
  mutating func add(_ notice: LastCrashNotice) {
    let message = notice.message
    waiting.append(
      Message(
        number: nextNumber, round: round, subject: message.subject, kind: message.kind, payload: message.payload))
    nextNumber &+= 1
  }

  /// Sends waiting messages until the limit of unanswered messages is reached.
  mutating func send(to socket: AttachSocket) {
    while unanswered.count < Self.window, let message = waiting.first {
      let bytes = ControlPlan.message(message.kind, number: message.number, payload: message.payload)
      // If `send` fails, the socket's buffer is full. The process frees space when it reads a message. When the
      // process's answer arrives, crashd sends the next messages.
      guard socket.send(bytes) else { return }
      waiting.removeFirst()
      unanswered[message.number] = message
    }
  }

  /// Handles an answer; returns false if no unanswered message has its number.
  mutating func take(_ answer: ControlAnswer, outcome: ControlOutcome) -> Bool {
    guard let message = unanswered.removeValue(forKey: answer.number) else { return false }
    // Ignore an answer to an earlier round, because it is obsolete. Ignore an answer to a message about the program's
    // last crash, because this message is not part of a round.
    guard message.round == round, message.kind != .CS_CONTROL_LAST_CRASH else { return true }
    // The message CS_CONTROL_SWEEP is the last message of each round.
    outcome.note(answer, of: message.subject, message.kind, isLast: message.kind == .CS_CONTROL_SWEEP)
    return true
  }
}

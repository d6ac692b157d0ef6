import CrashReport
import CrashRing

/// An input that the diagnosis rules read.
///
/// Each input can be printed as a text that shows the input's value for a crash.
enum Evidence: Sendable, CaseIterable {
  case signal, sender, address, access, pc, stackPointer, stack, instruction, operand, frames
  case runtimeFailure, message, abortMessage, exception, systemCall, memory, heap, field, freedRecords, code

  /// Returns the text of the input for a crash, such as `si_addr 0x10`.
  func text(_ facts: CrashFacts) -> String {
    let record = facts.record
    switch self {
    case .signal:
      let code = SignalNames.codeName(of: Int(record.code), signal: Int(record.signal))
      return "\(SignalText.name(record.signal)), si_code \(record.code) (\(code))"
    case .sender:
      if facts.isTimer { return "sent by a timer" }
      guard facts.hasSender else { return "not sent by a process" }
      let pid = record.senderPid == 0 ? "a pid outside its pid namespace" : "pid \(record.senderPid)"
      return "sent by \(pid) of uid \(record.senderUid)"
    case .address: return "si_addr \(facts.address)"
    case .access:
      let name = record.architecture == .x86_64 ? "page fault bits" : "syndrome"
      return "\(name) \(Address(record.errorCode)) (\(facts.access))"
    case .pc: return "pc \(Address(facts.pc))" + (facts.place(of: facts.pc).map { " in \($0)" } ?? "")
    case .stackPointer: return "stack pointer \(Address(facts.stackPointer))"
    case .stack:
      let (bytes, calls) = (counted(record.stack.count, "byte"), counted(record.frameTotal, "call"))
      return "\(bytes) of stack from \(Address(record.stackStart)), \(calls) deep"
    case .instruction:
      let bytes = record.instruction.map { $0.hexadecimal(digits: 2) }
      return "bytes at pc: " + (bytes.isEmpty ? "none" : bytes.joined(separator: " "))
    case .operand:
      guard let operand = facts.operand else { return "no memory operand that fits the fault" }
      let values = operand.values(record.registers)
      let address = operand.address(record.registers).map { " = \(Address($0))" } ?? ""
      return "operand \(operand.text)\(address)" + (values.isEmpty ? "" : " with \(values)")
    case .frames:
      let names = facts.frames.prefix(3).map { frame in
        if !frame.function.isEmpty { return FunctionName.short(frame.function) }
        return frame.mangled.isEmpty ? frame.address.description : frame.mangled
      }
      return "frames: " + (names.isEmpty ? "none" : names.joined(separator: ", "))
    case .field:
      guard let field = facts.field else { return "field: not known" }
      return "field '\(field.name)' of '\(field.type)' by '\(field.variable)'"
    case .code:
      if facts.codeBefore.isEmpty { return "code before pc: not read" }
      return "code before pc: "
        + (facts.fieldLoad?.text ?? "no load of the operand's register from recorded memory")
    case .runtimeFailure: return "inlined reason: " + Self.quoted(facts.runtimeFailure ?? "")
    case .message:
      let before = facts.earlierMessages.isEmpty ? "" : ", and before " + Self.quoted(facts.earlierMessages)
      return "Swift's message: " + Self.quoted(facts.message) + before
    case .abortMessage: return "glibc's message: " + Self.quoted(record.abortMessage)
    case .exception: return "C++ exception: " + Self.quoted(record.exceptionType)
    case .systemCall: return "system call " + (record.systemCall.map { "\($0)" } ?? "none")
    case .freedRecords:
      let texts = facts.freedRecords.map { "\(Address($0.address)) was a \($0.incident.subject)" }
      let held = facts.held.map { "\(Address($0.address)) is a \($0.incident.subject)" }
      return "objects that left the quarantine: " + (texts.isEmpty ? "not known" : texts.joined(separator: ", "))
        + (held.isEmpty ? "" : "; objects in quarantine: " + held.joined(separator: ", "))
    case .memory: return facts.memory.description
    case .heap:
      let key = facts.heap.key == nil ? "mark of freed blocks not known" : "mark of freed blocks known"
      return facts.heap.range.isEmpty
        ? key : "\(key), heap \(Address(facts.heap.range.lowerBound))–\(Address(facts.heap.range.upperBound))"
    }
  }

  private static func quoted(_ text: String) -> String { text.isEmpty ? "none" : "'\(MessageText.line(text))'" }
}

import CrashShield
import CrashShieldGuards
import Glibc
import Testing

/// Tests direct reads of an object's fields under the policy `zero`.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct EmptyValueTests {
  @Test("S4: under zero each field has its type's empty value; a field whose type has none stays readable")
  func fields() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Fields.self, policy: .zero)
      let reference = unsafe dangling { Fields() }
      drop()
      unsafe reference._withUnsafeGuaranteedRef { fields in
        check(fields.inherited.isEmpty)
        check(fields.array.isEmpty && fields.array.first == nil && fields.contiguous.count == 0)
        check(fields.dictionary["one"] == nil && fields.dictionary.count == 0 && !fields.set.contains(1))
        check(fields.text == "" && fields.text.utf8.count == 0 && fields.text + "more" == "more")
        check(fields.number == 0 && fields.ratio == 0 && !fields.isOn && fields.friend == nil && fields.note == nil)
        check(fields.state.queue.isEmpty && fields.state.names.isEmpty && fields.state.number == 0)
        // The types of these fields have no empty value, so the fields still reference their objects, which other
        // references keep valid.
        check(fields.shared.number == 7 && fields.state.shared.number == 7 && fields.greeting.greet() == 7)
        check(fields.choice == .none)
      }
      Shield.drainQuarantine()
      // There is no incident, because the quarantine cannot detect direct reads of fields.
      check(Shield.danglingIncidents().isEmpty)
      Glibc.exit(right)
    }
  }

  @Test("S4: a write to an emptied field is recorded, and the written value stays")
  func write() async {
    await #expect(processExitsWith: .exitCode(right)) {
      try Shield.protect(Fields.self, policy: .zero)
      let reference = unsafe dangling { Fields() }
      drop()
      unsafe reference._withUnsafeGuaranteedRef {
        $0.array.append(5)
        check($0.array == [5])
      }
      Shield.drainQuarantine()
      check(Shield.danglingIncidents().map(\.kind) == [.write])
      Glibc.exit(right)
    }
  }
}

nonisolated(unsafe) private let sharedSession = Session()

private struct State {
  var queue = [1]
  var names: Set<String> = ["one"]
  var number = 3
  var shared = unsafe sharedSession
}

private enum Choice: Equatable {
  case text(String)
  case none
}

private class Base {
  final var inherited = ["one"]
}

private final class Fields: Base {
  var array = [1, 2, 3]
  var contiguous: ContiguousArray<Int> = [1]
  var dictionary = ["one": 1]
  var set: Set<Int> = [1]
  var text = "a text that is too long to stand in the object"
  var number = 7
  var ratio = 0.5
  var isOn = true
  var friend: Session? = Session()
  var note: String? = "a note that is too long to stand in the object"
  var state = State()
  let shared = unsafe sharedSession
  let greeting: any Greeting = unsafe sharedSession
  var choice = Choice.text("a text that is too long to stand in the object")
}

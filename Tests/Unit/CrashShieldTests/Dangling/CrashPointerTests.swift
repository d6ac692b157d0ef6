import CShimRing
import CTestKit
import CrashShield
import Glibc
import Testing

/// Tests the record of a crash while registers point at quarantined objects.
@Suite(.enabled(if: Shield.danglingUnavailableReason == nil, "the quarantine is unavailable here"))
struct CrashPointerTests {
  @Test(
    "S4: a crash whose register points at a quarantined object has its class, policy and release stack",
    arguments: DanglingPolicy.allCases.indices)
  func held(number: Int) async {
    await #expect(processExitsWith: .exitCode(right)) { [number] in
      let policy = DanglingPolicy.allCases[number]
      try Shield.protect(Session.self, policy: policy)
      let address = unsafe UInt64(UInt(bitPattern: dangling { Session() }.toOpaque()))
      drop()
      // A register can point at the start of the object, at its reference counts, or at its first field.
      for offset in [0, 8, 16] as [UInt64] {
        var incident = cs_ring_incident()
        check(unsafe cs_test_crash_with(address + offset, &incident) == 1)
        check(incident.source == cs_ring_incident_source.CS_RING_INCIDENT_QUARANTINE.rawValue)
        check(incident.kind == cs_ring_dangling.CS_RING_DANGLING_HELD.rawValue)
        check(incident.mode == [.absorb: 0, .zero: 1, .diagnose: 2][policy])
        check(incident.address == address && incident.use_tid == 4711 && incident.amount == 0)
        check(incident.flags & UInt32(CS_RING_INCIDENT_RECORD) != 0 && incident.free_count > 2)
        check(incident.free_tid == gettid_())
        let name = unsafe withUnsafeBytes(of: incident.subject) { unsafe Array($0.prefix(Int(incident.subject_bytes))) }
        check(String(decoding: name, as: UTF8.self) == "CrashShieldTests.Session")
      }
      // After the quarantine has evicted the object, the crash has a freed-object record.
      Shield.drainQuarantine()
      var incident = cs_ring_incident()
      check(unsafe cs_test_crash_with(address, &incident) == 1)
      check(incident.kind == cs_ring_dangling.CS_RING_DANGLING_FREED.rawValue && incident.mode == 4)
      Glibc.exit(right)
    }
  }
}

import CShimRing
import FoundationEssentials
import Testing

@Suite("docs/ring-format.md")
struct RingFormatTests {
  @Test("the offset table of docs/ring-format.md equals the layout that Swift imports")
  func offsets() throws {
    var documented: [String: [String: Field]] = [:]
    var sizes: [String: Int] = [:]
    for row in try Self.rows() where row.count == 4 && row[0].hasPrefix("cs_ring") {
      let bytes = try #require(Int(row[3]))
      if row[1].isEmpty {
        sizes[row[0]] = bytes
      } else {
        documented[row[0], default: [:]][row[1]] = Field(offset: try #require(Int(row[2])), bytes: bytes)
      }
    }
    // Swift does not import the very large arrays `threads` and `requests`, which are the last fields of `cs_ring`.
    let lastPart = documented["cs_ring"]?.removeValue(forKey: "requests")
    let requests = try #require(lastPart)
    #expect(requests.offset + requests.bytes == MemoryLayout<cs_ring>.size)
    #expect(requests.bytes == Int(CS_RING_REQUEST_LIMIT) * MemoryLayout<cs_ring_request>.size)
    let partBefore = documented["cs_ring"]?.removeValue(forKey: "threads")
    let threads = try #require(partBefore)
    #expect(threads.offset + threads.bytes == requests.offset)
    #expect(threads.bytes == Int(CS_RING_THREAD_LIMIT) * MemoryLayout<cs_ring_thread>.size)
    let last = documented["cs_ring_slot"]?.removeValue(forKey: "stack")
    let stack = try #require(last)
    #expect(stack.offset + stack.bytes == MemoryLayout<cs_ring_slot>.size)
    #expect(stack.bytes == Int(CS_RING_STACK_LIMIT_BYTES))
    #expect(Set(documented.keys) == Set(Self.layout.keys))
    for (name, fields) in Self.layout { #expect(documented[name] == fields, "\(name)") }
    #expect(sizes == Self.sizes)
  }

  @Test("the table of parts in docs/ring-format.md states the offsets of the ring's parts")
  func parts() throws {
    var parts: [String: [Int]] = [:]
    for row in try Self.rows() where row.count == 4 && Self.layout["cs_ring"]?[row[0]] != nil {
      let numbers = row[1...].compactMap { Int($0) }
      if numbers.count == 3 { parts[row[0]] = numbers }
    }
    let layout = try #require(Self.layout["cs_ring"])
    #expect(Set(parts.keys) == Set(layout.keys))
    for (name, numbers) in parts {
      #expect(layout[name] == Field(offset: numbers[0], bytes: numbers[1] * numbers[2]), "\(name)")
    }
  }

  /// The cells of each row of the table, without backquotes.
  private static func rows() throws -> [[String]] {
    let file = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../../docs/ring-format.md")
    let text = String(decoding: try Data(contentsOf: file), as: UTF8.self)
    return text.split(separator: "\n").filter { $0.hasPrefix("|") }.map { line in
      line.split(separator: "|", omittingEmptySubsequences: false).dropFirst().dropLast()
        .map { String($0.filter { $0 != " " && $0 != "`" }) }
    }
  }

  private struct Field: Equatable {
    var offset: Int
    var bytes: Int

    init(offset: Int, bytes: Int) {
      self.offset = offset
      self.bytes = bytes
    }

    init<Layout, Value>(_ field: KeyPath<Layout, Value>) {
      self.init(offset: fieldOffset(field), bytes: MemoryLayout<Value>.size)
    }
  }

  private static let sizes = [
    "cs_ring_header": MemoryLayout<cs_ring_header>.size, "cs_ring_handler": MemoryLayout<cs_ring_handler>.size,
    "cs_ring_self_test": MemoryLayout<cs_ring_self_test>.size, "cs_ring_image": MemoryLayout<cs_ring_image>.size,
    "cs_ring_annotation": MemoryLayout<cs_ring_annotation>.size,
    "cs_ring_breadcrumb": MemoryLayout<cs_ring_breadcrumb>.size,
    "cs_ring_object_stacks": MemoryLayout<cs_ring_object_stacks>.size, "cs_ring_trap": MemoryLayout<cs_ring_trap>.size,
    "cs_ring_incident": MemoryLayout<cs_ring_incident>.size, "cs_ring_class": MemoryLayout<cs_ring_class>.size,
    "cs_ring_registers": MemoryLayout<cs_ring_registers>.size,
    "cs_ring_frame": MemoryLayout<cs_ring_frame>.size, "cs_ring_record": MemoryLayout<cs_ring_record>.size,
    "cs_ring_memory": MemoryLayout<cs_ring_memory>.size, "cs_ring_slot": MemoryLayout<cs_ring_slot>.size,
    "cs_ring_thread_record": MemoryLayout<cs_ring_thread_record>.size,
    "cs_ring_thread": MemoryLayout<cs_ring_thread>.size, "cs_ring_request": MemoryLayout<cs_ring_request>.size,
    "cs_ring": MemoryLayout<cs_ring>.size,
  ]

  private static let layout: [String: [String: Field]] = [
    "cs_ring_header": [
      "magic": Field(\cs_ring_header.magic),
      "version": Field(\cs_ring_header.version),
      "architecture": Field(\cs_ring_header.architecture),
      "total_bytes": Field(\cs_ring_header.total_bytes),
      "ring_id": Field(\cs_ring_header.ring_id),
      "pid": Field(\cs_ring_header.pid),
      "uid": Field(\cs_ring_header.uid),
      "start_time_ns": Field(\cs_ring_header.start_time_ns),
      "image_count": Field(\cs_ring_header.image_count),
      "image_total": Field(\cs_ring_header.image_total),
      "slot_head": Field(\cs_ring_header.slot_head),
      "slot_lost": Field(\cs_ring_header.slot_lost),
      "record_minimal": Field(\cs_ring_header.record_minimal),
      "annotation_lost": Field(\cs_ring_header.annotation_lost),
      "breadcrumb_head": Field(\cs_ring_header.breadcrumb_head),
      "name": Field(\cs_ring_header.name),
      "executable": Field(\cs_ring_header.executable),
      "slot_overwritten": Field(\cs_ring_header.slot_overwritten),
      "thread_count": Field(\cs_ring_header.thread_count),
      "thread_total": Field(\cs_ring_header.thread_total),
      "sweep": Field(\cs_ring_header.sweep),
      "survived": Field(\cs_ring_header.survived),
      "sweep_ns": Field(\cs_ring_header.sweep_ns),
      "handlers": Field(\cs_ring_header.handlers),
      "heap_key": Field(\cs_ring_header.heap_key),
      "heap_start": Field(\cs_ring_header.heap_start),
      "memory_mode": Field(\cs_ring_header.memory_mode),
      "is_restricted": Field(\cs_ring_header.is_restricted),
      "incident_lost": Field(\cs_ring_header.incident_lost),
      "class_count": Field(\cs_ring_header.class_count),
      "class_total": Field(\cs_ring_header.class_total),
      "self_test": Field(\cs_ring_header.self_test),
      "announces_incidents": Field(\cs_ring_header.announces_incidents),
      "swift_version": Field(\cs_ring_header.swift_version),
      "takes_last_crash": Field(\cs_ring_header.takes_last_crash),
      "request_lookup": Field(\cs_ring_header.request_lookup),
      "request_begun": Field(\cs_ring_header.request_begun),
      "request_finished": Field(\cs_ring_header.request_finished),
      "request_failed": Field(\cs_ring_header.request_failed),
      "request_overflow": Field(\cs_ring_header.request_overflow),
      "request_high": Field(\cs_ring_header.request_high),
      "containment_mode": Field(\cs_ring_header.containment_mode),
      "containment_obstacle": Field(\cs_ring_header.containment_obstacle),
      "containment_budget": Field(\cs_ring_header.containment_budget),
      "containment_count": Field(\cs_ring_header.containment_count),
      "drain_end": Field(\cs_ring_header.drain_end),
      "drain_finished": Field(\cs_ring_header.drain_finished),
      "drain_lost": Field(\cs_ring_header.drain_lost),
      "drain_begin_ns": Field(\cs_ring_header.drain_begin_ns),
      "drain_end_ns": Field(\cs_ring_header.drain_end_ns),
      "drain_sequence": Field(\cs_ring_header.drain_sequence),
    ],
    "cs_ring_self_test": [
      "sequence": Field(\cs_ring_self_test.sequence),
      "time_ns": Field(\cs_ring_self_test.time_ns),
      "asked": Field(\cs_ring_self_test.asked),
      "failing": Field(\cs_ring_self_test.failing),
      "checks": Field(\cs_ring_self_test.checks),
      "failures": Field(\cs_ring_self_test.failures),
    ],
    "cs_ring_handler": [
      "address": Field(\cs_ring_handler.address),
      "signal": Field(\cs_ring_handler.signal),
      "state": Field(\cs_ring_handler.state),
    ],
    "cs_ring_image": [
      "bias": Field(\cs_ring_image.bias),
      "start": Field(\cs_ring_image.start),
      "end": Field(\cs_ring_image.end),
      "flags": Field(\cs_ring_image.flags),
      "build_id_bytes": Field(\cs_ring_image.build_id_bytes),
      "build_id": Field(\cs_ring_image.build_id),
      "path": Field(\cs_ring_image.path),
    ],
    "cs_ring_annotation": [
      "sequence": Field(\cs_ring_annotation.sequence),
      "key_bytes": Field(\cs_ring_annotation.key_bytes),
      "value_bytes": Field(\cs_ring_annotation.value_bytes),
      "key": Field(\cs_ring_annotation.key),
      "value": Field(\cs_ring_annotation.value),
    ],
    "cs_ring_breadcrumb": [
      "sequence": Field(\cs_ring_breadcrumb.sequence),
      "time_ns": Field(\cs_ring_breadcrumb.time_ns),
      "text_bytes": Field(\cs_ring_breadcrumb.text_bytes),
      "level": Field(\cs_ring_breadcrumb.level),
      "category_bytes": Field(\cs_ring_breadcrumb.category_bytes),
      "metadata_bytes": Field(\cs_ring_breadcrumb.metadata_bytes),
      "text": Field(\cs_ring_breadcrumb.text),
      "request": Field(\cs_ring_breadcrumb.request),
    ],
    "cs_ring_incident": [
      "key": Field(\cs_ring_incident.key),
      "sequence": Field(\cs_ring_incident.sequence),
      "count": Field(\cs_ring_incident.count),
      "first_ns": Field(\cs_ring_incident.first_ns),
      "last_ns": Field(\cs_ring_incident.last_ns),
      "address": Field(\cs_ring_incident.address),
      "method": Field(\cs_ring_incident.method),
      "age_ns": Field(\cs_ring_incident.age_ns),
      "amount": Field(\cs_ring_incident.amount),
      "source": Field(\cs_ring_incident.source),
      "kind": Field(\cs_ring_incident.kind),
      "mode": Field(\cs_ring_incident.mode),
      "flags": Field(\cs_ring_incident.flags),
      "id": Field(\cs_ring_incident.id),
      "word": Field(\cs_ring_incident.word),
      "use_tid": Field(\cs_ring_incident.use_tid),
      "free_tid": Field(\cs_ring_incident.free_tid),
      "use_count": Field(\cs_ring_incident.use_count),
      "free_count": Field(\cs_ring_incident.free_count),
      "subject_bytes": Field(\cs_ring_incident.subject_bytes),
      "subject": Field(\cs_ring_incident.subject),
      "use": Field(\cs_ring_incident.use),
      "detail": Field(\cs_ring_incident.detail),
      "origin_count": Field(\cs_ring_incident.origin_count),
      "origin_tid": Field(\cs_ring_incident.origin_tid),
      "object_bytes": Field(\cs_ring_incident.object_bytes),
    ],
    "cs_ring_object_stacks": [
      "free": Field(\cs_ring_object_stacks.free),
      "origin": Field(\cs_ring_object_stacks.origin),
    ],
    "cs_ring_trap": [
      "registers": Field(\cs_ring_trap.registers),
      "frames": Field(\cs_ring_trap.frames),
    ],
    "cs_ring_class": [
      "admitted": Field(\cs_ring_class.admitted),
      "evicted": Field(\cs_ring_class.evicted),
      "hits": Field(\cs_ring_class.hits),
      "skipped_budget": Field(\cs_ring_class.skipped_budget),
      "skipped_busy": Field(\cs_ring_class.skipped_busy),
      "skipped_unowned": Field(\cs_ring_class.skipped_unowned),
      "skipped_isolated": Field(\cs_ring_class.skipped_isolated),
      "policy": Field(\cs_ring_class.policy),
      "limit": Field(\cs_ring_class.limit),
      "is_listed": Field(\cs_ring_class.is_listed),
      "instance_bytes": Field(\cs_ring_class.instance_bytes),
      "name_bytes": Field(\cs_ring_class.name_bytes),
      "name": Field(\cs_ring_class.name),
    ],
    "cs_ring_registers": [
      "general": Field(\cs_ring_registers.general),
      "general_count": Field(\cs_ring_registers.general_count),
      "flags": Field(\cs_ring_registers.flags),
      "error_code": Field(\cs_ring_registers.error_code),
      "trap_number": Field(\cs_ring_registers.trap_number),
      "fault_address": Field(\cs_ring_registers.fault_address),
    ],
    "cs_ring_memory": [
      "start": Field(\cs_ring_memory.start),
      "bytes": Field(\cs_ring_memory.bytes),
      "contents": Field(\cs_ring_memory.contents),
    ],
    "cs_ring_frame": [
      "pc": Field(\cs_ring_frame.pc),
      "function_start": Field(\cs_ring_frame.function_start),
      "trust": Field(\cs_ring_frame.trust),
      "flags": Field(\cs_ring_frame.flags),
      "image": Field(\cs_ring_frame.image),
    ],
    "cs_ring_record": [
      "sequence": Field(\cs_ring_record.sequence),
      "time_ns": Field(\cs_ring_record.time_ns),
      "entry_ns": Field(\cs_ring_record.entry_ns),
      "address": Field(\cs_ring_record.address),
      "pid": Field(\cs_ring_record.pid),
      "tid": Field(\cs_ring_record.tid),
      "signal": Field(\cs_ring_record.signal),
      "code": Field(\cs_ring_record.code),
      "sender_pid": Field(\cs_ring_record.sender_pid),
      "sender_uid": Field(\cs_ring_record.sender_uid),
      "system_call": Field(\cs_ring_record.system_call),
      "flags": Field(\cs_ring_record.flags),
      "frame_count": Field(\cs_ring_record.frame_count),
      "frame_total": Field(\cs_ring_record.frame_total),
      "frame_head": Field(\cs_ring_record.frame_head),
      "unwind_stop": Field(\cs_ring_record.unwind_stop),
      "instruction_bytes": Field(\cs_ring_record.instruction_bytes),
      "message_bytes": Field(\cs_ring_record.message_bytes),
      "abort_bytes": Field(\cs_ring_record.abort_bytes),
      "exception_bytes": Field(\cs_ring_record.exception_bytes),
      "stack_start": Field(\cs_ring_record.stack_start),
      "stack_bytes": Field(\cs_ring_record.stack_bytes),
      "verdict": Field(\cs_ring_record.verdict),
      "verdict_reason": Field(\cs_ring_record.verdict_reason),
      "registers": Field(\cs_ring_record.registers),
      "thread_name": Field(\cs_ring_record.thread_name),
      "instruction": Field(\cs_ring_record.instruction),
      "message": Field(\cs_ring_record.message),
      "abort_message": Field(\cs_ring_record.abort_message),
      "exception": Field(\cs_ring_record.exception),
      "exception_text_bytes": Field(\cs_ring_record.exception_text_bytes),
      "task_name_bytes": Field(\cs_ring_record.task_name_bytes),
      "task_id": Field(\cs_ring_record.task_id),
      "task_priority": Field(\cs_ring_record.task_priority),
      "heap_end": Field(\cs_ring_record.heap_end),
      "memory_count": Field(\cs_ring_record.memory_count),
      "exception_text": Field(\cs_ring_record.exception_text),
      "task_name": Field(\cs_ring_record.task_name),
      "memory": Field(\cs_ring_record.memory),
      "frames": Field(\cs_ring_record.frames),
    ],
    "cs_ring_slot": [
      "state": Field(\cs_ring_slot.state),
      "commit_ns": Field(\cs_ring_slot.commit_ns),
      "crc": Field(\cs_ring_slot.crc),
      "record": Field(\cs_ring_slot.record),
      "request": Field(\cs_ring_slot.request),
      "request_crc": Field(\cs_ring_slot.request_crc),
    ],
    "cs_ring_request": [
      "state": Field(\cs_ring_request.state),
      "number": Field(\cs_ring_request.number),
      "started_ns": Field(\cs_ring_request.started_ns),
      "trace_id": Field(\cs_ring_request.trace_id),
      "span_id": Field(\cs_ring_request.span_id),
      "operation_bytes": Field(\cs_ring_request.operation_bytes),
      "id_bytes": Field(\cs_ring_request.id_bytes),
      "tag_bytes": Field(\cs_ring_request.tag_bytes),
      "operation": Field(\cs_ring_request.operation),
      "id": Field(\cs_ring_request.id),
      "tags": Field(\cs_ring_request.tags),
    ],
    "cs_ring_thread_record": [
      "blocked_signals": Field(\cs_ring_thread_record.blocked_signals),
      "tid": Field(\cs_ring_thread_record.tid),
      "answer": Field(\cs_ring_thread_record.answer),
      "name": Field(\cs_ring_thread_record.name),
      "frame_count": Field(\cs_ring_thread_record.frame_count),
      "frame_total": Field(\cs_ring_thread_record.frame_total),
      "frame_head": Field(\cs_ring_thread_record.frame_head),
      "unwind_stop": Field(\cs_ring_thread_record.unwind_stop),
      "run_state": Field(\cs_ring_thread_record.run_state),
      "flags": Field(\cs_ring_thread_record.flags),
      "task_name_bytes": Field(\cs_ring_thread_record.task_name_bytes),
      "task_id": Field(\cs_ring_thread_record.task_id),
      "task_priority": Field(\cs_ring_thread_record.task_priority),
      "task_name": Field(\cs_ring_thread_record.task_name),
      "registers": Field(\cs_ring_thread_record.registers),
      "frames": Field(\cs_ring_thread_record.frames),
    ],
    "cs_ring_thread": [
      "state": Field(\cs_ring_thread.state),
      "crc": Field(\cs_ring_thread.crc),
      "record": Field(\cs_ring_thread.record),
    ],
    "cs_ring": [
      "header": Field(\cs_ring.header),
      "images": Field(\cs_ring.images),
      "annotations": Field(\cs_ring.annotations),
      "breadcrumbs": Field(\cs_ring.breadcrumbs),
      "incidents": Field(\cs_ring.incidents),
      "classes": Field(\cs_ring.classes),
      "slots": Field(\cs_ring.slots),
    ],
  ]
}

// Static assertions of the ring's layout. A change of one of these assertions requires a new CS_RING_VERSION.
#include "cs_ring.h"
#include "cs_attach.h"
#include "cs_record_line.h"

#define OFFSET(type, field, value) _Static_assert(offsetof(type, field) == (value), #type "." #field)
#define SIZE(type, value)          _Static_assert(sizeof(type) == (value), #type)

SIZE(cs_ring_header, 4096);
OFFSET(cs_ring_header, magic, 0);
OFFSET(cs_ring_header, version, 8);
OFFSET(cs_ring_header, architecture, 12);
OFFSET(cs_ring_header, total_bytes, 16);
OFFSET(cs_ring_header, ring_id, 24);
OFFSET(cs_ring_header, pid, 40);
OFFSET(cs_ring_header, uid, 44);
OFFSET(cs_ring_header, start_time_ns, 48);
OFFSET(cs_ring_header, image_count, 56);
OFFSET(cs_ring_header, image_total, 60);
OFFSET(cs_ring_header, slot_head, 64);
OFFSET(cs_ring_header, slot_lost, 72);
OFFSET(cs_ring_header, record_minimal, 80);
OFFSET(cs_ring_header, annotation_lost, 88);
OFFSET(cs_ring_header, breadcrumb_head, 96);
OFFSET(cs_ring_header, name, 104);
OFFSET(cs_ring_header, executable, 168);
OFFSET(cs_ring_header, slot_overwritten, 488);
OFFSET(cs_ring_header, thread_count, 496);
OFFSET(cs_ring_header, thread_total, 500);
OFFSET(cs_ring_header, sweep, 504);
OFFSET(cs_ring_header, survived, 508);
OFFSET(cs_ring_header, sweep_ns, 512);
OFFSET(cs_ring_header, handlers, 520);
OFFSET(cs_ring_header, heap_key, 648);
OFFSET(cs_ring_header, heap_start, 656);
OFFSET(cs_ring_header, memory_mode, 664);
OFFSET(cs_ring_header, is_restricted, 668);
OFFSET(cs_ring_header, incident_lost, 672);
OFFSET(cs_ring_header, class_count, 680);
OFFSET(cs_ring_header, class_total, 684);
OFFSET(cs_ring_header, self_test, 688);
OFFSET(cs_ring_header, announces_incidents, 728);
OFFSET(cs_ring_header, swift_version, 732);
OFFSET(cs_ring_header, takes_last_crash, 736);
OFFSET(cs_ring_header, request_lookup, 740);
OFFSET(cs_ring_header, request_begun, 744);
OFFSET(cs_ring_header, request_finished, 752);
OFFSET(cs_ring_header, request_failed, 760);
OFFSET(cs_ring_header, request_overflow, 768);
OFFSET(cs_ring_header, request_high, 776);
OFFSET(cs_ring_header, containment_mode, 780);
OFFSET(cs_ring_header, containment_obstacle, 784);
OFFSET(cs_ring_header, containment_budget, 788);
OFFSET(cs_ring_header, containment_count, 792);
OFFSET(cs_ring_header, drain_end, 796);
OFFSET(cs_ring_header, drain_finished, 800);
OFFSET(cs_ring_header, drain_lost, 804);
OFFSET(cs_ring_header, drain_begin_ns, 808);
OFFSET(cs_ring_header, drain_end_ns, 816);
OFFSET(cs_ring_header, drain_sequence, 824);

SIZE(cs_ring_handler, 16);
OFFSET(cs_ring_handler, signal, 8);
OFFSET(cs_ring_handler, state, 12);

SIZE(cs_ring_self_test, 40);
OFFSET(cs_ring_self_test, sequence, 0);
OFFSET(cs_ring_self_test, time_ns, 8);
OFFSET(cs_ring_self_test, asked, 16);
OFFSET(cs_ring_self_test, failing, 24);
OFFSET(cs_ring_self_test, checks, 32);
OFFSET(cs_ring_self_test, failures, 36);

SIZE(cs_ring_image, 384);
OFFSET(cs_ring_image, flags, 24);
OFFSET(cs_ring_image, build_id, 32);
OFFSET(cs_ring_image, path, 64);

SIZE(cs_ring_annotation, 512);
OFFSET(cs_ring_annotation, key, 8);
OFFSET(cs_ring_annotation, value, 72);

SIZE(cs_ring_breadcrumb, 256);
OFFSET(cs_ring_breadcrumb, level, 20);
OFFSET(cs_ring_breadcrumb, category_bytes, 21);
OFFSET(cs_ring_breadcrumb, metadata_bytes, 22);
OFFSET(cs_ring_breadcrumb, text, 24);
OFFSET(cs_ring_breadcrumb, request, 248);

SIZE(cs_ring_registers, 312);
SIZE(cs_ring_frame, 24);
SIZE(cs_ring_memory, 144);
OFFSET(cs_ring_memory, contents, 16);

SIZE(cs_ring_record, 12984);
OFFSET(cs_ring_record, pid, 32);
OFFSET(cs_ring_record, frame_count, 64);
OFFSET(cs_ring_record, message_bytes, 84);
OFFSET(cs_ring_record, stack_start, 96);
OFFSET(cs_ring_record, stack_bytes, 104);
OFFSET(cs_ring_record, verdict, 108);
OFFSET(cs_ring_record, verdict_reason, 110);
OFFSET(cs_ring_record, registers, 112);
OFFSET(cs_ring_record, thread_name, 424);
OFFSET(cs_ring_record, instruction, 440);
OFFSET(cs_ring_record, message, 456);
OFFSET(cs_ring_record, abort_message, 2504);
OFFSET(cs_ring_record, exception, 3528);
OFFSET(cs_ring_record, exception_text_bytes, 3784);
OFFSET(cs_ring_record, task_name_bytes, 3788);
OFFSET(cs_ring_record, task_id, 3792);
OFFSET(cs_ring_record, task_priority, 3796);
OFFSET(cs_ring_record, heap_end, 3800);
OFFSET(cs_ring_record, memory_count, 3808);
OFFSET(cs_ring_record, exception_text, 3816);
OFFSET(cs_ring_record, task_name, 4328);
OFFSET(cs_ring_record, memory, 4392);
OFFSET(cs_ring_record, frames, 6840);

SIZE(cs_ring_request, 512);
OFFSET(cs_ring_request, state, 0);
OFFSET(cs_ring_request, number, 8);
OFFSET(cs_ring_request, started_ns, 16);
OFFSET(cs_ring_request, trace_id, 24);
OFFSET(cs_ring_request, span_id, 40);
OFFSET(cs_ring_request, operation_bytes, 48);
OFFSET(cs_ring_request, id_bytes, 50);
OFFSET(cs_ring_request, tag_bytes, 52);
OFFSET(cs_ring_request, operation, 56);
OFFSET(cs_ring_request, id, 152);
OFFSET(cs_ring_request, tags, 216);

SIZE(cs_ring_slot, 81920);
OFFSET(cs_ring_slot, commit_ns, 8);
OFFSET(cs_ring_slot, crc, 16);
OFFSET(cs_ring_slot, record, 64);
OFFSET(cs_ring_slot, request, 13048);
OFFSET(cs_ring_slot, request_crc, 13560);
OFFSET(cs_ring_slot, stack, 16384);

SIZE(cs_ring_thread_record, 4048);
OFFSET(cs_ring_thread_record, tid, 8);
OFFSET(cs_ring_thread_record, answer, 12);
OFFSET(cs_ring_thread_record, name, 16);
OFFSET(cs_ring_thread_record, frame_count, 32);
OFFSET(cs_ring_thread_record, run_state, 48);
OFFSET(cs_ring_thread_record, flags, 52);
OFFSET(cs_ring_thread_record, task_name_bytes, 56);
OFFSET(cs_ring_thread_record, task_id, 60);
OFFSET(cs_ring_thread_record, task_priority, 64);
OFFSET(cs_ring_thread_record, registers, 72);
OFFSET(cs_ring_thread_record, task_name, 384);
OFFSET(cs_ring_thread_record, frames, 448);

SIZE(cs_ring_thread, 4096);
OFFSET(cs_ring_thread, crc, 8);
OFFSET(cs_ring_thread, record, 16);

SIZE(cs_ring_object_stacks, 256);
OFFSET(cs_ring_object_stacks, free, 0);
OFFSET(cs_ring_object_stacks, origin, 128);

SIZE(cs_ring_trap, 256);
OFFSET(cs_ring_trap, registers, 0);
OFFSET(cs_ring_trap, frames, 128);

SIZE(cs_ring_incident, 640);
OFFSET(cs_ring_incident, key, 0);
OFFSET(cs_ring_incident, sequence, 8);
OFFSET(cs_ring_incident, count, 16);
OFFSET(cs_ring_incident, first_ns, 24);
OFFSET(cs_ring_incident, last_ns, 32);
OFFSET(cs_ring_incident, address, 40);
OFFSET(cs_ring_incident, method, 48);
OFFSET(cs_ring_incident, age_ns, 56);
OFFSET(cs_ring_incident, amount, 64);
OFFSET(cs_ring_incident, source, 72);
OFFSET(cs_ring_incident, kind, 76);
OFFSET(cs_ring_incident, mode, 80);
OFFSET(cs_ring_incident, flags, 84);
OFFSET(cs_ring_incident, id, 88);
OFFSET(cs_ring_incident, word, 92);
OFFSET(cs_ring_incident, use_tid, 96);
OFFSET(cs_ring_incident, free_tid, 100);
OFFSET(cs_ring_incident, use_count, 104);
OFFSET(cs_ring_incident, free_count, 108);
OFFSET(cs_ring_incident, subject_bytes, 112);
OFFSET(cs_ring_incident, origin_count, 116);
OFFSET(cs_ring_incident, subject, 120);
OFFSET(cs_ring_incident, use, 248);
OFFSET(cs_ring_incident, detail, 376);
OFFSET(cs_ring_incident, origin_tid, 632);
OFFSET(cs_ring_incident, object_bytes, 636);

SIZE(cs_ring_class, 256);
OFFSET(cs_ring_class, admitted, 0);
OFFSET(cs_ring_class, evicted, 8);
OFFSET(cs_ring_class, hits, 16);
OFFSET(cs_ring_class, skipped_budget, 24);
OFFSET(cs_ring_class, skipped_busy, 32);
OFFSET(cs_ring_class, skipped_unowned, 40);
OFFSET(cs_ring_class, skipped_isolated, 48);
OFFSET(cs_ring_class, policy, 56);
OFFSET(cs_ring_class, limit, 60);
OFFSET(cs_ring_class, is_listed, 64);
OFFSET(cs_ring_class, instance_bytes, 68);
OFFSET(cs_ring_class, name_bytes, 72);
OFFSET(cs_ring_class, name, 80);

SIZE(cs_ring, 12095488);
OFFSET(cs_ring, images, 4096);
OFFSET(cs_ring, annotations, 200704);
OFFSET(cs_ring, breadcrumbs, 233472);
OFFSET(cs_ring, incidents, 266240);
OFFSET(cs_ring, classes, 430080);
OFFSET(cs_ring, slots, 561152);
OFFSET(cs_ring, threads, 5804032);
OFFSET(cs_ring, requests, 9998336);
_Static_assert(offsetof(cs_ring, requests) == CS_RING_EARLIER_BYTES, "version 5 ends where the requests begin");
_Static_assert(offsetof(cs_ring_breadcrumb, text) + CS_RING_EARLIER_BREADCRUMB_LIMIT_BYTES ==
                   sizeof(cs_ring_breadcrumb),
               "the text of version 5 ends with the breadcrumb");

SIZE(cs_attach_hello, 536);
SIZE(cs_attach_reply, 264);
OFFSET(cs_attach_reply, text, 24);
SIZE(cs_control_header, 24);
SIZE(cs_control_class, 24);
SIZE(cs_control_sweep, 8);
SIZE(cs_control_settings, 24);
SIZE(cs_control_guards, 136);
OFFSET(cs_control_guards, modes, 8);
OFFSET(cs_control_guards, implicit_modes, 72);
SIZE(cs_control_answer, 24);
_Static_assert(sizeof(cs_control_header) + sizeof(cs_control_guards) <= CS_CONTROL_LIMIT_BYTES,
               "the modes of guards fit into a message");
_Static_assert(sizeof(cs_control_header) + sizeof(cs_control_class) + CS_CONTROL_NAME_LIMIT_BYTES <=
                   CS_CONTROL_LIMIT_BYTES,
               "the longest name fits into a message");

SIZE(cs_record_line_head, 18);
_Static_assert(CS_RECORD_LINE_PAYLOAD_LIMIT_BYTES ==
                   (CS_RECORD_LINE_LIMIT_BYTES - (sizeof CS_RECORD_LINE_PREFIX - 1) - 1) * 6 / 8,
               "the largest payload fills the line");

#!/usr/bin/env python3
"""Models the thread pool of containment on 2 to 64 processors: one queue with one lock, or a queue for each seat.

Usage: model.py [--hold NS] [--local NS]

A seat is the place of one thread in the pool. Each seat runs jobs in a closed loop: it takes a job, runs it, and adds the next job. Taking
and adding need the lock of a queue, which serves the seats in the order of their requests. `hold` is the time for which a seat holds a lock
that another processor held before. This time includes the transfer of the cache lines. `local` is the time for which a seat holds the lock
of its own queue. An idle seat steals half of the jobs of a random queue. Each row has the share of the processor time that runs jobs, for
both structures. The model ignores memory bandwidth, wake-ups and the event loops.
"""

import argparse
import heapq
import random

WIDTHS = [2, 16, 64]
RUN_US = [2, 5, 10, 50]
JOBS_A_SEAT = 4
END_NS = 3_000_000


def one_queue(width: int, run_ns: float, hold_ns: float) -> float:
    chance = random.Random(1)
    # Each job adds the next job, so the queue is never empty, and the seats wait only for its lock.
    free_at = busy = 0.0
    seats = [(chance.uniform(0, run_ns), seat) for seat in range(width)]
    heapq.heapify(seats)
    while seats[0][0] < END_NS:
        now, seat = heapq.heappop(seats)
        free_at = max(now, free_at) + 2 * hold_ns  # adds a job and takes one
        run = chance.expovariate(1 / run_ns)
        busy += run
        heapq.heappush(seats, (free_at + run, seat))
    return busy / (width * END_NS)


def queues_with_stealing(width: int, run_ns: float, hold_ns: float, local_ns: float) -> float:
    chance = random.Random(1)
    jobs, free_at, busy = [JOBS_A_SEAT] * width, [0.0] * width, 0.0
    seats = [(chance.uniform(0, run_ns), seat) for seat in range(width)]
    heapq.heapify(seats)
    while seats[0][0] < END_NS:
        now, seat = heapq.heappop(seats)
        # A third of the jobs goes to the queue of a random seat, like a job whose continuation an event loop enqueues
        # from another processor.
        to = chance.randrange(width) if chance.random() < 1 / 3 else seat
        jobs[to] += 1
        now = free_at[to] = max(now, free_at[to]) + (local_ns if to == seat else hold_ns)
        while jobs[seat] == 0:
            victim = chance.randrange(width)
            now = free_at[victim] = max(now, free_at[victim]) + hold_ns
            stolen = (jobs[victim] + 1) // 2
            jobs[victim] -= stolen
            jobs[seat] += stolen
        now = free_at[seat] = max(now, free_at[seat]) + local_ns
        jobs[seat] -= 1
        run = chance.expovariate(1 / run_ns)
        busy += run
        heapq.heappush(seats, (now + run, seat))
    return busy / (width * END_NS)


def main() -> None:
    parser = argparse.ArgumentParser(description="Models the pool on machines with more processors.")
    parser.add_argument("--hold", type=float, default=100, help="ns with a lock that another processor had before")
    parser.add_argument("--local", type=float, default=25, help="ns with the lock of the seat's own queue")
    options = parser.parse_args()
    print("| µs a job | " + " | ".join(f"{width} seats: one queue, stealing" for width in WIDTHS) + " |")
    print("|---|" + "---|" * len(WIDTHS))
    for run_us in RUN_US:
        cells = []
        for width in WIDTHS:
            one = one_queue(width, run_us * 1000, options.hold)
            many = queues_with_stealing(width, run_us * 1000, options.hold, options.local)
            cells.append(f"{min(one, 1):.2f}, {min(many, 1):.2f}")
        print(f"| {run_us} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main()

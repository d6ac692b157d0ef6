"""Uses crashd as the reference implementation of Varlink (PyPI `varlink`) does.

Usage: varlink_reference_client.py SOCKET CURSOR COUNT

Reads the interface's description, calls List, and reads COUNT events of Subscribe after CURSOR. Prints one JSON object.
"""

import json
import sys

import varlink

INTERFACE = "io.crashshield.Crashd"


def main() -> None:
    socket, cursor, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
    client = varlink.Client.new_with_address(f"unix:{socket}")
    interfaces = client.get_interfaces() and sorted(client.get_interfaces())
    with client.open(INTERFACE) as crashd:
        # The client reads the methods from crashd's own interface description. It checks parameters and replies against
        # this description.
        reports = [report["id"] for report in crashd.List(limit=10)["reports"]]
        try:
            crashd.Get(id="ffff")
            error = None
        except varlink.VarlinkError as problem:
            error = problem.error()
    events = []
    with client.open(INTERFACE) as crashd:
        for reply in crashd.Subscribe(cursor=cursor, _more=True):
            if "report" in reply:
                events.append(reply["report"]["id"])
            if len(events) == count:
                break
    print(json.dumps({"interfaces": interfaces, "reports": reports, "error": error, "events": events}))


main()

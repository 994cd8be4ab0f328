"""A small engine: ``working_runner.py ROUNDS VERB`` reads its files by ranges, and works so many rounds on them."""

import http.client
import sys
import zlib
from pathlib import Path
from urllib.parse import urlsplit

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "lab/arrowroot_lab/runners"))
from process_line import begin, serve

N_RANGES = 8
WORK = bytes(range(256)) * 256


def identify(_):
    return {"name": "working", "versions": {"working": "1"}, "can": ["read", "strategy:*"]}


def run(job):
    n_bytes = 0
    watch = begin(job)
    for url in job["urls"]:
        place = urlsplit(url)
        connection = http.client.HTTPConnection(place.netloc)
        for number in range(N_RANGES):
            asked = {"Range": f"bytes={number * 1000}-{number * 1000 + 999}"}
            connection.request("GET", place.path, headers=asked)
            n_bytes += len(connection.getresponse().read())
        connection.close()
    for _ in range(int(sys.argv[1])):
        zlib.compress(WORK, 6)
    answer = watch.answer()
    answer["counters"]["store"] = {"n_reads": N_RANGES, "n_bytes": n_bytes}
    return answer | {"n_entries": 100}


if __name__ == "__main__":
    serve({"identify": identify, "run": run})

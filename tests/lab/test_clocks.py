"""A clock that is set in the middle of a run: times go on, and it is told."""

from datetime import timedelta

import pytest

from arrowroot_lab import clock
from tests.lab.running import engine, run


class Setting(list):
    """Events of a run: after the first sample the clock is set by some time."""

    def __init__(self, offsets, by):
        super().__init__()
        self._offsets, self._by = offsets, by

    def append(self, event):
        if event[0] == "sample" and not self._offsets:
            self._offsets.append(self._by)
        super().append(event)


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize(("hours", "words"), [(-2, "set back by 2.00 h"), (3, "set forward by 3.00 h")])
def test_a_clock_that_is_set_in_a_run_disorders_nothing_and_is_told(campaign, monkeypatch, hours, words):
    offsets: list[timedelta] = []
    of_machine = clock._of_machine
    monkeypatch.setattr(clock, "_of_machine", lambda: of_machine() + sum(offsets, timedelta()))
    path = campaign(engine("a"), repeats=2)
    summary, results = run(path, events=Setting(offsets, timedelta(hours=hours)))
    assert offsets
    times = [sample.started_at for result in results for sample in result.samples]
    begun_in_turns = sorted(
        (sample.turn, sample.started_at) for result in results for sample in result.samples
    )
    assert [at for _, at in begun_in_turns] == sorted(times)
    for result in results:
        assert result.samples[0].started_at < result.created_at
        # Minutes at most, and not the hours by which it was set.
        assert abs(clock.ahead_s(result.created_at) + 3600 * hours) < 1800
    (remark,) = summary.remarks
    assert words in remark
    # Its results are from the future of the next run, or hours old.
    summary, _ = run(path, again=True)
    assert len(summary.remarks) == (1 if hours < 0 else 0)
    assert all("behind the newest result of site site" in one for one in summary.remarks)

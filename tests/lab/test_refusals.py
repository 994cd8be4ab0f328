"""Storages of others that refuse, say nothing, or want other credentials, in the middle of a round."""

import re

import pytest

import arrowroot
from arrowroot_lab.documents import Outcome
from arrowroot_lab.running import checking, failing, sparing
from arrowroot_lab.running.failing import Failure
from arrowroot_lab.storages import measure_line
from tests.lab.fussy import fussy
from tests.lab.fussy_xrootd import (
    NOT_AUTHORIZED,
    OVER_QUOTA,
    OVERLOADED,
    SERVER_ERROR,
    error,
    fussy_xrootd,
    wait,
)
from tests.lab.running import LOCAL, calls, engine, run

#: Far away reads arrowroot, which gives up soon; here a runner that does as told.
ENGINES = (
    engine("fake")
    + """
[engine.arrowroot]
[strategy.quick]
strategy = "auto"
options = { retries = 2, timeout = 1, deadline = 20 }
[[include]]
storage = "far"
engine = "arrowroot"
[[include]]
storage = "here"
engine = "fake"
"""
)


class Then(list):
    """Events of a run: something is done after the first sample."""

    def __init__(self, action):
        super().__init__()
        self._action = action

    def append(self, event):
        if event[0] == "sample" and not any(kind == "sample" for kind, *_ in self):
            self._action()
        super().append(event)


@pytest.fixture
def campaign(campaign, monkeypatch):
    """Writes a campaign of which no other engine reads the values; nothing waits for long."""
    monkeypatch.setattr(sparing, "BACK_OFF_S", 0.2)
    monkeypatch.setattr(measure_line, "TIMEOUT_S", 1.0)
    monkeypatch.setattr(checking, "references", lambda _: [])
    return campaign


def outcomes(results):
    """By storage and workload: the outcome, and the samples that went well."""
    return {
        (one.case["storage_name"], one.case["workload_name"]): (
            one.outcome, sum(sample.outcome is Outcome.OK for sample in one.samples),
        )
        for one in results
    }  # fmt: skip


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize(
    ("answer", "words"),
    [
        ((503, {"Retry_After": "1"}), "storage far refuses, and is left alone: .*503"),
        pytest.param((429, {}), "storage far refuses, and is left alone: .*429", marks=pytest.mark.long),
        pytest.param((None, {}), "storage far does not answer, and is left alone", marks=pytest.mark.long),
    ],
)
def test_a_storage_that_refuses_is_left_alone_for_the_rest_of_the_round(campaign, numbers, answer, words):
    status, headers = answer
    with fussy(numbers.parent) as server:
        path = campaign(ENGINES, storages=server.storage() + LOCAL, repeats=2)
        summary, results = run(path, events=Then(lambda: server.refuse_now(status, **headers)))
        # An opening that is given up makes five requests. A refusal is tried again once in a round; a server that says
        # nothing is asked for one byte.
        assert server.n_refused == (6 if status is None else 10)
        assert outcomes(results) == {
            ("far", "wide"): (Outcome.REFUSED, 1),
            ("far", "narrow"): (Outcome.REFUSED, 0),
            ("here", "wide"): (Outcome.OK, 2),
            ("here", "narrow"): (Outcome.OK, 2),
        }
        (problem,) = summary.failures
        assert summary.has_failed
        for text in (problem, *(one.reason for one in results if one.outcome is Outcome.REFUSED)):
            assert re.match(words, text), text
        server.refuses_from = 1 << 60
        summary, _ = run(path)
        assert outcomes(summary.results) == {("far", name): (Outcome.OK, 2) for name in ("wide", "narrow")}


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize(
    ("status", "words"),
    [
        (429, "storage far refuses, and is left alone: .*status 429"),
        (503, "storage far refuses, and is left alone: .*status 503"),
        (None, "storage far does not answer, and is left alone: .*onnect"),
    ],
)
def test_a_storage_that_refuses_as_files_are_put_there_is_left_alone_as_well(
    campaign, tmp_path, numbers, status, words
):
    with fussy(numbers.parent) as server:
        storage = f"{server.storage()}push = true\n"
        if status is None:
            storage = storage.replace(str(server.server_port), "9")
        else:
            server.refuse_now(status)
        log = tmp_path / "log"
        summary, results = run(campaign(engine("fake", log=log), storages=storage + LOCAL, repeats=1))
        assert server.n_refused == (0 if status is None else 2)
    assert {name: end for name, (end, _) in outcomes(results).items()} == {
        **dict.fromkeys([("far", "wide"), ("far", "narrow")], Outcome.REFUSED),
        **dict.fromkeys([("here", "wide"), ("here", "narrow")], Outcome.OK),
    }
    (problem,) = summary.failures
    assert re.match(words, problem), problem


@pytest.mark.usefixtures("undisturbed")
def test_engines_that_do_not_try_again_are_asked_twice_in_a_round_however_many_cases_there_are(
    campaign, tmp_path
):
    log = tmp_path / "log"
    storage = '[storage.far]\nkind = "url"\nurl = "http://127.0.0.1:9/{file}"\n'
    engines = "".join(engine(name, log=log, error="HTTP 503 Service Unavailable") for name in "abc")
    summary, results = run(campaign(engines, storages=storage))
    assert sum(call["verb"] == "run" for call in calls(log)) == 2
    assert [one.outcome for one in results] == [Outcome.REFUSED] * 6
    assert len(summary.failures) == 1


@pytest.mark.usefixtures("undisturbed")
def test_a_case_that_takes_too_long_is_no_reason_to_leave_a_storage_that_answers(campaign, tmp_path, numbers):
    log = tmp_path / "log"
    with fussy(numbers.parent) as server:
        for is_silent, expected in (
            (False, {Outcome.TIMED_OUT}),
            (True, {Outcome.REFUSED}),
        ):
            path = campaign(
                engine("a", log=log, hangs_s=60), storages=server.storage(),
                top='[limits]\ntimeout = "1 s"\n', name=f"{is_silent}.toml",
            )  # fmt: skip
            n_before = len(calls(log))
            if is_silent:
                server.refuse_now(None)
            _, results = run(path)
            assert {one.outcome for one in results} == expected
            asked = [call["job"] for call in calls(log)[n_before:] if call["verb"] == "run"]
            n_hung = sum("wants_checksum" not in job for job in asked)
            assert n_hung == (1 if is_silent else 2)


@pytest.mark.usefixtures("undisturbed")
def test_a_token_that_expires_leaves_the_samples_to_the_next_run(campaign, numbers, monkeypatch):
    monkeypatch.setenv("ARROWROOT_TOKEN", "first")
    with fussy(numbers.parent) as server:
        server.token = "first"  # noqa: S105 - of a server of this test
        path = campaign(ENGINES, storages=server.storage() + LOCAL, repeats=2)

        def expire():
            server.token = "second"  # noqa: S105 - of a server of this test

        summary, results = run(path, events=Then(expire))
        assert outcomes(results) == {("here", name): (Outcome.OK, 2) for name in ("wide", "narrow")}
        assert len(summary.left) == 2
        (problem,) = summary.failures
        assert problem.startswith("storage far wants new credentials: ")
        assert "401" in problem
        assert summary.has_failed
        # Still the old one: nothing is lost by another try.
        run(path)
        monkeypatch.setenv("ARROWROOT_TOKEN", "second")
        summary, _ = run(path)
    far = [one for one in summary.results if one.case["storage_name"] == "far"]
    assert outcomes(far) == {("far", name): (Outcome.OK, 2) for name in ("wide", "narrow")}
    (wide,) = (one for one in far if one.case["workload_name"] == "wide")
    begun = [sample.started_at for sample in wide.samples]
    assert begun[0] < min(sample.started_at for one in results for sample in one.samples)


@pytest.mark.usefixtures("undisturbed")
def test_samples_that_wait_of_a_run_that_measures_again_are_told_until_another_one_does(
    campaign, numbers, monkeypatch
):
    monkeypatch.setenv("ARROWROOT_TOKEN", "first")
    with fussy(numbers.parent) as server:
        server.token = "first"  # noqa: S105 - of a server of this test
        path = campaign(ENGINES, storages=server.storage() + LOCAL, repeats=2)
        _, before = run(path)

        def expire():
            server.token = "second"  # noqa: S105 - of a server of this test

        events = Then(expire)
        summary, _ = run(path, again=True, events=events)
        assert len(summary.left) == 2
        assert any("2 cases are left for the next run with --again" in text for _, _, text, _ in events)
        monkeypatch.setenv("ARROWROOT_TOKEN", "second")
        summary, _ = run(path)
        assert (summary.n_known, summary.results) == (4, [])
        assert summary.remarks == ["samples of 1 case wait: `lab run --again` goes on with them"]
        summary, results = run(path, again=True)
        assert outcomes(summary.results)["far", "wide"] == (Outcome.OK, 2)
        assert len(results) == len(before) + 2 + 4
        (wide,) = (one for one in summary.results if outcomes([one]).keys() == {("far", "wide")})
        assert wide.samples[0].started_at < max(
            one.created_at for one in results if one not in summary.results
        )
        assert run(path)[0].remarks == []


@pytest.mark.parametrize(
    ("refusal", "words", "n_asked", "kind"),
    [
        (wait(3600, "from tape"), "says to come back in 3600 s", (1,), Failure.REFUSAL),
        (error(OVER_QUOTA, "10 files are open"), "says 10 files are open (3021)", (1,), Failure.REFUSAL),
        # Tried three times by arrowroot itself.
        (error(OVERLOADED, "go away"), "says go away (3024)", (3,), Failure.REFUSAL),
        (error(SERVER_ERROR, "too many clients"), "says too many clients (3012)", (3,), Failure.REFUSAL),
        (error(SERVER_ERROR, "no such disk"), "says no such disk (3012)", (3,), Failure.FINAL),
        # Asked again by the official client, if that is there: it has more ways to say who it is.
        (error(NOT_AUTHORIZED, "the token has expired"), "token has expired", (1, 2, 3), Failure.CREDENTIALS),
        (error(NOT_AUTHORIZED, "go away"), "go away", (1, 2, 3), Failure.CREDENTIALS),
    ],
)
def test_what_arrowroot_says_of_a_refusal_over_xrootd_tells_its_kind(numbers, refusal, words, n_asked, kind):
    with fussy_xrootd(numbers.parent) as server:
        server.refusal = refusal
        with pytest.raises(arrowroot.ArrowrootError) as told:
            arrowroot.open(server.url(numbers.name), retries=2, timeout=1, deadline=20)
        assert words in str(told.value)
        assert failing.kind_of(str(told.value), "url") is kind
        assert server.n_refused in n_asked
        # A wait for which there is time is waited for, and is no failure.
        server.refuse_times(wait(0), 2)
        arrowroot.open(server.url(numbers.name), retries=0, timeout=5, deadline=20).close()
        assert server.n_refused == 2


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("[3024] go away", Failure.REFUSAL),
        ("[3021] 10 files are open", Failure.REFUSAL),
        ("[3012] too many clients", Failure.REFUSAL),
        ("[3010] go away", Failure.CREDENTIALS),
        ("[3030] go away", Failure.CREDENTIALS),
        ("[3011] go away", Failure.FINAL),
    ],
)
def test_so_do_the_words_of_the_official_client(words, kind):
    said = f"OSError: File did not open properly: [ERROR] Server responded with an error: {words}"
    assert failing.kind_of(said, "url") is kind
    # Whatever has such a number elsewhere is none.
    assert failing.kind_of(f"OSError: {words}", "url") is not Failure.CREDENTIALS
    assert failing.kind_of(said, "local") is Failure.FINAL


@pytest.mark.usefixtures("undisturbed")
@pytest.mark.parametrize("number", [OVER_QUOTA, NOT_AUTHORIZED])
def test_a_storage_that_refuses_over_xrootd_is_asked_little_more_in_a_round(campaign, numbers, number):
    with fussy_xrootd(numbers.parent) as server:
        path = campaign(ENGINES, storages=server.storage() + LOCAL, repeats=2)
        then = Then(lambda: server.refuse_times(error(number, "no more"), 1 << 60))
        summary, results = run(path, events=then)
        here = {("here", name): (Outcome.OK, 2) for name in ("wide", "narrow")}
        (problem,) = summary.failures
        if number == OVER_QUOTA:
            assert problem.startswith("storage far refuses, and is left alone: ")
            far = {("far", "wide"): (Outcome.REFUSED, 1), ("far", "narrow"): (Outcome.REFUSED, 0)}
            assert (outcomes(results), len(summary.left)) == (here | far, 0)
        else:
            assert problem.startswith("storage far wants new credentials: ")
            assert (outcomes(results), len(summary.left)) == (here, 2)
        assert "no more" in problem
        # An opening of the case, and one after the storage was left alone for a while; or those of above.
        assert server.n_refused <= (2 if number == OVER_QUOTA else 3)

import threading

import pytest

from arrowroot._ahead import in_order


@pytest.mark.parametrize("n_ahead", [1, 2, 5, 100])
def test_results_come_in_order(n_ahead):
    assert list(in_order([lambda i=i: i * i for i in range(20)], n_ahead)) == [i * i for i in range(20)]


def test_jobs_run_at_the_same_time():
    all_here = threading.Barrier(4, timeout=60)
    assert sorted(in_order([all_here.wait] * 4, 4)) == [0, 1, 2, 3]


def test_an_error_comes_in_its_turn_and_ends_it():
    begun = []

    def job(i):
        begun.append(i)
        if i == 2:
            raise OSError("no such file")
        return i

    results = in_order([lambda i=i: job(i) for i in range(100)], 3)
    assert [next(results), next(results)] == [0, 1]
    with pytest.raises(OSError, match="no such file"):
        next(results)
    assert len(begun) <= 5

from arrowroot import _sizes
from tests.recorded import session


def test_sizes_durations_and_rates_are_read_and_shown(tmp_path):
    session("sizes", tmp_path, vars(_sizes))

"""Settings of writing are understood in every spelling, and what makes no sense is told with what would."""

from pathlib import Path

import arrowroot as ar
from arrowroot._layout import settings
from arrowroot._writing import location
from tests.recorded import session


def test_settings_and_places_in_every_spelling(tmp_path):
    session("settings-of-writing", tmp_path, {**vars(settings), **vars(location), "ar": ar, "Path": Path})

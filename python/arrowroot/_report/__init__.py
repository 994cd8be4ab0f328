"""Reports of what reading cost, and what is worked out from them: job reports, traces, models, series."""

"""Pictures for ``--plot``: of a reading, of what was sampled meanwhile, of a sweep. They need Matplotlib."""

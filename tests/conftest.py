"""What holds for every test: Hypothesis draws the same examples in every run, however slow the machine."""

import hypothesis

hypothesis.settings.register_profile("psephos", derandomize=True, deadline=None, database=None)
hypothesis.settings.load_profile("psephos")

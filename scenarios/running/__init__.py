"""Run scenarios: from a scenario's text to a folder with the results of its run."""

__all__: tuple[str, ...] = ()

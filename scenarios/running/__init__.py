"""From a scenario's text to a folder with everything that came of its run."""

__all__: tuple[str, ...] = ()

"""Truth discovery: its data, presentation, attack, audit and paper, found by `system.SYSTEM`."""

__all__: tuple[str, ...] = ()

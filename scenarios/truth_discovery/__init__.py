"""Truth discovery: data, presentation, attack, audit and paper, which `system.SYSTEM` names."""

__all__: tuple[str, ...] = ()

"""Message catalogues, which `scenarios.words` reads; `python tests/catalogues.py` takes new messages over."""

__all__: list[str] = []

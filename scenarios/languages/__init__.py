"""Message catalogues, one for each language: `psephos.scenarios.words` reads `<language>.mo`, people write the .po.

`python tests/catalogues.py` takes new messages over from the code, and compiles.
"""

__all__: list[str] = []

"""The pages of `serve --web`: files for a browser, of which links carry the digests."""

__all__: list[str] = []

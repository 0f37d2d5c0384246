"""The scenarios that come with Psephos: one TOML file each."""

__all__: tuple[str, ...] = ()

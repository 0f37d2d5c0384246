"""Functions of anybody's that a protocol's parameters name, and that whoever computes its outcome is given."""

import functools
from collections.abc import Callable, Collection, Mapping
from typing import Any, ClassVar, Generic, Self, TypeVar

import msgspec

from ..errors import ConfigurationError, require

ParametersT = TypeVar("ParametersT", bound=msgspec.Struct)


class NamedFunctions(Generic[ParametersT]):
    """The functions that a protocol's parameters name; mixed into a protocol that is made of `parameters` alone.

    Examples:
        >>> from psephos.protocol.dpwevote import DPWeVote, Parameters
        >>> DPWeVote(Parameters(candidates=("tea",))).foreign_functions
        {}
    """

    parameters: ParametersT
    named_functions: ClassVar[Mapping[str, Collection[str]]] = {}
    """Parameters that name a function, each with the names that are the protocol's own.

    Any other name is one that somebody registers, of a parameter `weight` as `psephos.weights`: see `use_function`.
    """

    @property
    def foreign_functions(self) -> dict[str, str]:
        """The names of functions that are not the protocol's own, by parameter; `use_function` gives the functions."""
        named = {field: getattr(self.parameters, field) for field in self.named_functions}
        return {
            field: name
            for field, name in named.items()
            if isinstance(name, str) and name not in self.named_functions[field]
        }

    def use_function(self, field: str, function: Callable[..., Any]) -> None:
        """Say what a parameter's name stands for. Only who computes the outcome needs it.

        Args:
            field: the parameter, of `named_functions`.

        Raises:
            ConfigurationError: the parameter names none, or one of the protocol's own; or see `check_function`.
        """
        allowed = f"named by the parameters, and not as {' or '.join(self.named_functions.get(field, ()))}"
        require(field in self.foreign_functions, field, function, allowed)
        self.check_function(field, function)
        self._functions[field] = function

    def check_function(self, field: str, function: Callable[..., Any]) -> None:
        """Raise ConfigurationError for a function that is none of its parameter's kind. Any is, by default."""
        del field, function

    def function_of(self, field: str) -> Callable[..., Any] | None:
        """Return the function that a parameter names; None for one of the protocol's own.

        Raises:
            ConfigurationError: it is somebody's, and nobody has said what it is.
        """
        name = self.foreign_functions.get(field)
        if name is not None and field not in self._functions:
            names = ", ".join(self.named_functions[field])
            allowed = f"one of {names}; or {type(self).__name__}(parameters, {field}=...) says what it is"
            raise ConfigurationError(field=field, value=name, allowed=allowed)
        return self._functions.get(field)

    @functools.cached_property
    def _functions(self) -> dict[str, Callable[..., Any]]:
        """The functions behind `foreign_functions`, by parameter."""
        return {}

    def with_parameters(self, parameters: ParametersT) -> Self:
        """Return the protocol with other parameters, and with the same functions for the same names."""
        kind: Any = type(self)
        made, functions = kind(parameters), self.foreign_functions
        for field, name in made.foreign_functions.items():
            if functions.get(field) == name and field in self._functions:
                made.use_function(field, self._functions[field])
        return made

"""Functions that a protocol's parameters refer to by name, and that only the computation of its outcome needs."""

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
    """The parameters that name a function, each with the names that the protocol defines.

    Any other name is registered by an entry point; for a parameter `weight`, in the group `psephos.weights`. See
    `use_function`.
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
        """Set the function that a parameter names. Only the computation of the outcome needs it.

        Args:
            field: the parameter, one of `named_functions`.
            function: the function.

        Raises:
            ConfigurationError: the parameter names no function, or one that the protocol defines; or see
                `check_function`.
        """
        allowed = f"named by the parameters, and not as {' or '.join(self.named_functions.get(field, ()))}"
        require(field in self.foreign_functions, field, function, allowed)
        self.check_function(field, function)
        self._functions[field] = function

    def check_function(self, field: str, function: Callable[..., Any]) -> None:
        """Raise ConfigurationError for a function that does not fit its parameter. By default any function fits."""
        del field, function

    def function_of(self, field: str) -> Callable[..., Any] | None:
        """Return the function that a parameter names; None if the protocol defines it.

        Raises:
            ConfigurationError: the function is registered elsewhere, and `use_function` was not called.
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

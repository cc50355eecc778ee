"""Classes of values: like `dataclass(frozen=True, slots=True)`, but no code is made before an object is.

The standard library writes and compiles six methods for each class when its module is imported, which takes half a
millisecond. Of the seventy classes that a session's start imports, it makes objects of a third. Here `__init__` is
compiled for the first object, and the other methods are the same code for all. To `dataclasses` such a class is one of
its own: `fields`, `replace`, `asdict` and `is_dataclass` know it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from operator import attrgetter
from typing import Any, Final, NamedTuple, NoReturn, TypeVar, dataclass_transform, overload

Value = TypeVar("Value")


class _Factory:
    """Stands for a default that is made for each object."""

    def __repr__(self) -> str:
        return "<factory>"


_FACTORY: Final = _Factory()


class Field(NamedTuple):
    default_factory: Callable[[], Any] | None
    init: bool


@overload
def field(*, init: bool) -> Any: ...
@overload
def field(*, default_factory: Callable[[], Value]) -> Value: ...
def field(*, default_factory: Callable[[], Any] | None = None, init: bool = True) -> Any:
    """A field whose default is made anew for each object, or one that `__post_init__` sets."""
    return Field(default_factory, init)


@overload
def value_class(cls: type[Value], /) -> type[Value]: ...
@overload
def value_class(
    *, kw_only: bool = False, slots: bool = True, frozen: bool = True
) -> Callable[[type[Value]], type[Value]]: ...
@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def value_class(
    cls: type[Any] | None = None, /, *, kw_only: bool = False, slots: bool = True, frozen: bool = True
) -> Any:
    """Make a class of values of one whose annotations are its fields. A `cached_property` needs one without slots; one
    that is not frozen has no hash.
    """
    return partial(_class_of, kw_only=kw_only, slots=slots, frozen=frozen) if cls is None else _class_of(cls)


def field_names(made: type) -> tuple[str, ...]:
    return tuple(made.__annotations__)


def field_values(of: object) -> dict[str, Any]:
    """The values themselves, by the names of their fields; `dataclasses.asdict` copies all that is in them."""
    return {name: getattr(of, name) for name in field_names(type(of))}


def replace(old: Value, /, **changes: Any) -> Value:
    """The same value, with other values in these fields. It may be of `dataclasses`, too."""
    made: Any = type(old)
    names = getattr(made, "__init_fields__", None) or [f.name for f in made.__dataclass_fields__.values() if f.init]
    return made(**{name: getattr(old, name) for name in names if name not in changes}, **changes)


class _Plan(NamedTuple):
    """A class as it was written. `kinds` are the annotations of its fields."""

    written: type
    kinds: dict[str, Any]
    defaults: dict[str, Any]
    kw_only: bool
    frozen: bool


def _class_of(written: type, *, kw_only: bool = False, slots: bool = True, frozen: bool = True) -> type:
    kinds, own = written.__annotations__, vars(written)
    names, defaults = tuple(kinds), {name: own[name] for name in kinds if name in own}
    in_init = tuple(name for name in names if not isinstance(defaults.get(name), Field) or defaults[name].init)
    parts = {name: part for name, part in own.items() if name not in defaults and name not in _OF_OBJECTS}
    parts = {**common_methods(names, frozen=frozen), **parts, **_LATER, "__annotations__": kinds} | (
        {"__slots__": names} if slots else {}
    )
    made: Any = type(written)(written.__name__, written.__bases__, parts)
    made.__qualname__ = written.__qualname__
    made.__init_fields__ = in_init
    made.__match_args__ = () if kw_only else in_init
    made.__plan__ = _Plan(written, kinds, defaults, kw_only, frozen)
    return made


def common_methods(names: Sequence[str], *, frozen: bool) -> dict[str, Any]:
    """What is the same code for every class."""
    # Of a single field it is the value itself, which compares and hashes as well.
    values = attrgetter(*names)

    def equals(self: object, other: object) -> bool:
        return values(self) == values(other) if other.__class__ is self.__class__ else NotImplemented

    def hash_(self: object) -> int:
        return hash(values(self))

    def show(self: object) -> str:
        return f"{type(self).__qualname__}({', '.join(f'{name}={getattr(self, name)!r}' for name in names)})"

    def get_state(self: object) -> list[Any]:
        return [getattr(self, name) for name in names]

    def set_state(self: object, state: list[Any]) -> None:
        for name, value in zip(names, state, strict=True):
            object.__setattr__(self, name, value)

    methods: dict[str, Any] = {
        "__eq__": equals, "__hash__": None, "__repr__": show, "__getstate__": get_state, "__setstate__": set_state,
    }  # fmt: skip
    return methods | ({"__hash__": hash_, "__setattr__": _refuse, "__delattr__": _refuse} if frozen else {})


def _refuse(self: object, name: str, value: object = None) -> NoReturn:  # noqa: ARG001 - of the protocol
    from dataclasses import FrozenInstanceError

    raise FrozenInstanceError(f"{type(self).__name__} is a value: its field {name} does not change.")


class _Later:
    """A part of a class that is made when somebody first asks for it, and then stands there itself. One such stands for
    that part of all classes.
    """

    def __init__(self, name: str, make: Callable[[type, _Plan], Any]) -> None:
        self._name, self._make = name, make

    def __get__(self, instance: object, asked: type | None = None) -> Any:
        name, made = self._name, type(instance) if asked is None else asked
        # It may be asked of a class that inherits from the value class.
        owner: Any = next(each for each in made.__mro__ if vars(each).get(name) is self)
        setattr(owner, name, self._make(owner, owner.__plan__))
        return getattr(made if instance is None else instance, name)


def init_method(owner: Any, plan: _Plan) -> Any:
    scope: dict[str, Any] = {"_set": object.__setattr__, "_factory": _FACTORY}
    arguments, lines, defaults = ["self", "*"] if plan.kw_only else ["self"], ["pass"], plan.defaults
    in_init: tuple[str, ...] = owner.__init_fields__
    for name in in_init:
        default, argument, given = defaults.get(name), name, name
        if isinstance(default, Field):
            scope[f"_make_{name}"] = default.default_factory
            argument, given = f"{name}=_factory", f"_make_{name}() if {name} is _factory else {name}"
        elif name in defaults:
            scope[f"_default_{name}"] = default
            argument = f"{name}=_default_{name}"
        arguments.append(argument)
        if name in vars(owner):
            # A slot, which `object.__setattr__` would have to look for.
            scope[f"_set_{name}"] = getattr(owner, name).__set__
            lines.append(f"_set_{name}(self, {given})")
        else:
            lines.append(f"_set(self, '{name}', {given})")
    if hasattr(owner, "__post_init__"):
        lines.append("self.__post_init__()")
    exec(f"def __init__({', '.join(arguments)}):\n " + "\n ".join(lines), scope)  # noqa: S102 - of its own names alone
    made = scope["__init__"]
    made.__qualname__, made.__module__ = f"{owner.__qualname__}.__init__", owner.__module__
    made.__annotations__ = {name: plan.kinds[name] for name in in_init} | {"return": None}
    return made


def _of_dataclasses(name: str) -> Callable[[type, _Plan], Any]:
    """What the standard library keeps of a class, made by itself of one with the same fields."""

    def make(_: type, plan: _Plan) -> Any:
        import dataclasses

        written = {**plan.defaults, "__annotations__": plan.kinds, "__module__": plan.written.__module__}
        for own, default in written.items():
            if isinstance(default, Field):
                factory = default.default_factory or dataclasses.MISSING
                written[own] = dataclasses.field(default_factory=factory, init=default.init)
        twin = dataclasses.dataclass(frozen=plan.frozen, kw_only=plan.kw_only)(type(plan.written.__name__, (), written))
        return vars(twin)[name]

    return make


_OF_OBJECTS: Final = frozenset({"__dict__", "__weakref__"})
_LATER: Final = {"__init__": _Later("__init__", init_method)} | {
    name: _Later(name, _of_dataclasses(name)) for name in ("__dataclass_fields__", "__dataclass_params__")
}

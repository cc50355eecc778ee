"""Classes of values are dataclasses to everybody who looks, and import without making code."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
import subprocess
import sys

import pytest

from perdure.values import field, field_names, field_values, replace, value_class


@value_class
class Place:
    """Somewhere."""

    name: str
    height: float = 0.0
    tags: list[str] = field(default_factory=list[str])
    label: str = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", self.name.upper())


@value_class(kw_only=True, frozen=False)
class Tally:
    seen: int = 0
    of: str


def test_values_are_equal_when_their_fields_are() -> None:
    assert Place("a", 1.0) == Place("a", height=1.0)
    assert Place("a") != Place("b")
    assert Place("a") != ("a", 0.0, [], "A")
    assert len({Tallied(1), Tallied(1), Tallied(2)}) == 2
    assert repr(Place("a")) == "Place(name='a', height=0.0, tags=[], label='A')"
    assert Place.__doc__ == "Somewhere."


@value_class
class Tallied:
    count: int


def test_a_default_that_is_made_is_made_for_each() -> None:
    Place("a").tags.append("x")
    assert Place("a").tags == []


def test_a_value_does_not_change_and_another_is_made() -> None:
    place = Place("a", 2.0)
    for change in (lambda: setattr(place, "name", "b"), lambda: delattr(place, "name"), lambda: setattr(place, "c", 1)):
        with pytest.raises(dataclasses.FrozenInstanceError):
            change()
    assert replace(place, name="b") == dataclasses.replace(place, name="b") == Place("b", 2.0)
    tally = Tally(of="b")
    tally.seen += 1
    assert field_values(tally) == {"seen": 1, "of": "b"}
    with pytest.raises(TypeError, match="unhashable"):
        hash(tally)


def test_copies_are_equal() -> None:
    place = Place("a", tags=["x"])
    assert copy.copy(place) == copy.deepcopy(place) == pickle.loads(pickle.dumps(place)) == place  # noqa: S301 - ours


def test_a_wrong_argument_is_refused_as_by_any_function() -> None:
    with pytest.raises(TypeError, match=r"Place.__init__.*'name'"):
        Place()  # pyright: ignore[reportCallIssue]
    with pytest.raises(TypeError, match=r"Tally.__init__.*positional"):
        Tally(1)  # pyright: ignore[reportCallIssue]


def test_the_standard_library_knows_a_class_of_values() -> None:
    assert dataclasses.is_dataclass(Place)
    assert [each.name for each in dataclasses.fields(Place)] == list(field_names(Place))
    assert [each.init for each in dataclasses.fields(Place)] == [True, True, True, False]
    assert dataclasses.asdict(Place("a")) == {"name": "a", "height": 0.0, "tags": [], "label": "A"}
    assert (
        str(inspect.signature(Place)) == "(name: 'str', height: 'float' = 0.0, tags: 'list[str]' = <factory>) -> None"
    )
    assert str(inspect.signature(Tally)) == "(*, seen: 'int' = 0, of: 'str') -> None"
    match Place("a", 3.0):
        case Place(name, height):
            assert (name, height) == ("a", 3.0)


def test_a_hook_is_ready_without_the_module_that_writes_classes() -> None:
    program = "import sys, perdure.hook.program, perdure.hook.handlers, perdure.settings, perdure.model; "
    loaded = [sys.executable, "-c", program + "sys.exit('dataclasses' in sys.modules)"]
    assert subprocess.run(loaded, check=False).returncode == 0

from hypothesis import given
from hypothesis import strategies as st

from eqlab.core.forms import Form, Scale, check_values, json_schema
from eqlab.core.trials import Trial, from_json, to_json

TRIAL = Trial(
    benchmark="eqbench",
    items=("1",),
    condition="plain",
    stimulus="A: Hi\nB: Oh.",
    form=Form((Scale("Calm", "Calm", 0, 10, ((0, "no"), (10, "yes"))),)),
    prompt="How calm is B?",
    key={"reference": {"Calm": 3.0}},
)


def test_the_same_question_has_the_same_id_forever():
    assert TRIAL.id == "b3e569dbcb059e5f48983204"  # a change here makes every stored answer an orphan
    again = Trial(**{name: getattr(TRIAL, name) for name in Trial.__slots__ if name != "id"})
    assert again.id == TRIAL.id


@given(st.sampled_from(["stimulus", "prompt", "system", "condition"]), st.text(min_size=1))
def test_any_change_of_content_changes_the_id(name, text):
    fields = {field: getattr(TRIAL, field) for field in Trial.__slots__ if field != "id"}
    changed = Trial(**fields | {name: fields[name] + text})
    assert changed.id != TRIAL.id


@given(st.text(), st.text(), st.integers(-5, 5), st.integers(6, 20))
def test_json_round_trip(stimulus, label, low, high):
    trial = Trial("b", ("x", "y"), "c", stimulus, Form((Scale("k", label, low, high, ((low, label),), True),)), label)
    back = from_json(to_json(trial))
    assert back == trial
    assert back.id == trial.id


def test_schema_lists_every_value():
    schema = json_schema(TRIAL.form)
    assert schema["properties"]["Calm"]["enum"] == list(range(11))
    assert schema["required"] == ["Calm"]


@given(st.one_of(st.integers(), st.floats(), st.text(), st.booleans(), st.none()))
def test_only_values_on_the_scale_fill_in_a_form(value):
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value <= 10
    assert (check_values(TRIAL.form, {"Calm": value}) == "") == good


def test_missing_and_unknown_keys_are_named():
    assert "Calm" in check_values(TRIAL.form, {})
    assert "Extra" in check_values(TRIAL.form, {"Calm": 1, "Extra": 2})

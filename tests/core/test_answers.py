from msgspec.structs import replace

from eqlab.core.answers import Answer, final, replaced


def attempt(number, status):
    return Answer("r", "t", "s", 0, number, f"text {number}", status)


def test_the_first_good_attempt_counts():
    attempts = [attempt(3, "ok"), attempt(1, "unparseable"), attempt(2, "ok")]
    assert final(attempts).attempt == 2


def test_of_a_person_the_last_good_attempt_counts():
    """They may change an answer; reports told the one that they had taken back."""
    attempts = [replace(attempt(number, status), subject="person:p") for number, status in ((1, "ok"), (2, "ok"))]
    assert final(attempts).attempt == 2
    assert final([*attempts, replace(attempts[0], attempt=3, status="error")]).attempt == 2


def test_without_a_good_one_the_last_that_was_answered_counts():
    attempts = [attempt(1, "unparseable"), attempt(2, "refused"), attempt(3, "error")]
    assert final(attempts).attempt == 2


def test_nothing_answered():
    assert final([attempt(1, "error"), attempt(2, "error")]).attempt == 2
    assert final([]) is None


def test_people_who_talk_with_models_are_no_model_that_was_replaced():
    seen = {"llama3.2": 31, "qwen3": 25}
    assert not [*replaced("people", seen), *replaced("person:1", seen)]
    assert len([*replaced("model:llama3.2", seen)]) == 2

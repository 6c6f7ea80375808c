"""Records of Every Eval Ever: valid by the published schemas, the same bytes each time."""

import hashlib
import json

import judge_case
import pytest
import scripted
from server import answer_to

import eqlab as api
from eqlab.core.errors import DataError, UsageError
from eqlab.publish.every_eval_ever import Sender, write_records
from eqlab.runs import judge as judging
from eqlab.runs.panel import panel_of


def reply(prompt):
    if "A) " not in prompt:
        return answer_to(prompt)
    return "emotion: A\ncause: A" if "cause: A" in prompt else "Answer: A"


@pytest.fixture
def stored(server, store):
    server.reply = lambda body, n: "no idea" if n % 5 == 0 else reply(body["messages"][-1]["content"])
    request = api.Request(("openai/m",), ("eqbench", "emobench"), limit=4, repeats=1, base_url=server.url)
    return store.find_run(api.run(api.prepare(request), store).run)


def written(store, stored, folder, **sender):
    paths = write_records(store, stored, folder, Sender(**sender))
    records = [json.loads(path.read_text(encoding="utf-8")) for path in paths if path.suffix == ".json"]
    lines = {
        path: [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        for path in paths
        if path.suffix == ".jsonl"
    }
    return records, lines


@pytest.fixture
def judged(server, store):
    """Two models' replies, rated by two judges."""
    on = judge_case.replies(server, store, ("openai/warm", "openai/cold"))
    wanted = judging.JudgeRequest(judges=("openai/j1", "openai/j2"), on=(on, "author"), base_url=server.url)
    return store.find_run(api.run(judging.prepare(wanted, store, lambda _: None), store).run)


@pytest.fixture
def talks(server, store):
    server.reply = scripted.talk
    return store.find_run(api.run(scripted.prepared(server, "plain", limit=2, options={"turns": "2"}), store).run)


@pytest.mark.parametrize(("errors", "which"), [(False, "stored"), (True, "stored"), (False, "judged"), (True, "talks")])
def test_both_schemas_take_them(request, store, tmp_path, published, errors, which):
    stored = request.getfixturevalue(which)
    jsonschema = pytest.importorskip("jsonschema")
    folder = published / "every_eval_ever/every_eval_ever/schemas"
    aggregate, instance = (
        jsonschema.Draft7Validator(json.loads((folder / name).read_text(encoding="utf-8")))
        for name in ("eval.schema.json", "instance_level_eval.schema.json")
    )
    records, lines = written(store, stored, tmp_path, errors_as_wrong=errors)
    assert [error.message for record in records for error in aggregate.iter_errors(record)] == []
    assert [error.message for own in lines.values() for line in own for error in instance.iter_errors(line)] == []
    assert list(aggregate.iter_errors({**records[0], "more": 1}))


def test_rated_models_have_their_judges_with_prompt_and_weights(store, judged, tmp_path):
    records, lines = written(store, judged, tmp_path)
    assert sorted(record["model_info"]["name"] for record in records) == ["openai/cold", "openai/warm"]  # no author
    panel = panel_of(store, judged)
    for record in records:
        (head,) = record["evaluation_results"]
        assert head["score_details"]["score"] == dict(panel.others.shares)[record["model_info"]["name"]].value
        scoring = head["metric_config"]["llm_scoring"]
        assert [judge["model_info"]["name"] for judge in scoring["judges"]] == ["openai/j1", "openai/j2"]
        assert [judge["weight"] for judge in scoring["judges"]] == [0.5, 0.5]
        assert all(judge["additional_details"]["calibration"] == "none" for judge in scoring["judges"])
        assert scoring["aggregation_method"] == "average"
        assert "Your rating:" in scoring["input_prompt"]
        assert "dearest" not in scoring["input_prompt"]
        own = lines[tmp_path / record["detailed_evaluation_results"]["file_path"]]
        assert len(own) == 8
        warm = record["model_info"]["name"] == "openai/warm"
        assert all(("dearest" in line["output"]["raw"][0]) == warm for line in own)


def test_a_talk_is_one_line_with_its_messages(store, talks, tmp_path):
    _, lines = written(store, talks, tmp_path, errors_as_wrong=True)
    ((own),) = lines.values()
    (result,) = api.results(store, talks)
    assert len(own) == len(result.transcripts) == 2
    for line, talk in zip(own, result.transcripts, strict=True):
        assert [one["content"] for one in line["messages"]] == [said.text for said in talk.lines]
        assert {one["role"] for one in line["messages"]} == {"user", "assistant"}
        assert line["messages"][-1 if talk.lines[-1].seat == "listener" else -2]["role"] == "assistant"
        assert line["evaluation"] == {"score": talk.score, "is_correct": False, "num_turns": len(talk.lines)}
        assert "I heard" not in json.dumps(line["messages"])
        assert "I heard" in line["metadata"]["thoughts"]


def test_an_aggregate_and_its_lines_belong_together(store, stored, tmp_path):
    records, lines = written(store, stored, tmp_path, organisation="A lab", relationship="other")
    assert {record["eval_library"]["additional_details"]["run"] for record in records} == {stored.id}
    for record in records:
        link = record["detailed_evaluation_results"]
        path = tmp_path / link["file_path"]
        assert path.parent.relative_to(tmp_path).as_posix() == "data/eqlab/openai/m"
        assert path.name.endswith("_samples.jsonl")
        assert link["checksum"] == hashlib.sha256(path.read_bytes()).hexdigest()
        assert link["total_rows"] == len(lines[path])
        ids = {result["evaluation_result_id"] for result in record["evaluation_results"]}
        assert len(ids) == len(record["evaluation_results"])
        for line in lines[path]:
            assert line["evaluation_id"] == record["evaluation_id"]
            assert line["model_id"] == record["model_info"]["id"] == "openai/m"
            assert line["evaluation_result_id"] in ids
        assert record["source_metadata"]["source_organization_name"] == "A lab"


def test_scores_have_interval_baselines_and_counts(store, stored, tmp_path):
    records, _ = written(store, stored, tmp_path)
    found = {result.benchmark: result for result in api.results(store, stored)}
    for record in records:
        head = record["evaluation_results"][0]
        result = found[head["evaluation_result_id"].split(".")[1]]
        assert head["score_details"]["score"] == result.headline.value
        assert head["score_details"]["uncertainty"]["num_samples"] == result.headline.n
        assert head["metric_config"]["lower_is_better"] is False
        low, high = head["metric_config"]["min_score"], head["metric_config"]["max_score"]
        assert low <= head["score_details"]["score"] <= high
        for one in result.baselines:
            assert str(one.value) in head["metric_config"]["additional_details"].values()


def test_answers_that_could_not_be_read_are_left_out_or_wrong_and_said(store, stored, tmp_path):
    _, without = written(store, stored, tmp_path / "a")
    _, wrong = written(store, stored, tmp_path / "b", errors_as_wrong=True)
    left = [line for own in without.values() for line in own]
    every = [line for own in wrong.values() for line in own]
    assert all("error" not in line for line in left)
    lost = [line for line in every if "error" in line]
    assert len(every) == len(left) + len(lost)
    assert all(line["evaluation"] == {"score": 0.0, "is_correct": False} for line in lost)


def test_the_same_run_gives_the_same_bytes_and_no_other_content_is_overwritten(store, stored, tmp_path):
    paths = write_records(store, stored, tmp_path, Sender())
    before = [path.read_bytes() for path in paths]
    assert [path.read_bytes() for path in write_records(store, stored, tmp_path, Sender())] == before
    paths[0].write_text("mine")
    with pytest.raises(DataError, match="other content"):
        write_records(store, stored, tmp_path, Sender())
    assert paths[0].read_text() == "mine"


def test_open_items_are_shown_and_graded_scores_are_not_called_right(store, stored, tmp_path):
    _, lines = written(store, stored, tmp_path)
    every = [line for own in lines.values() for line in own]
    assert all(line["input"]["raw"].count("\n") > 1 for line in every)
    graded = [line for line in every if line["metadata"].get("is_correct_meaning") == "not applicable"]
    assert graded
    assert not any(line["evaluation"]["is_correct"] for line in graded)


def test_without_instances_there_is_one_file_a_benchmark(store, stored, tmp_path):
    records, lines = written(store, stored, tmp_path, instances=False)
    assert len(records) == 2
    assert lines == {}
    assert all("detailed_evaluation_results" not in record for record in records)


def test_an_unknown_relationship_is_refused(store, stored, tmp_path):
    with pytest.raises(UsageError, match="relationship"):
        write_records(store, stored, tmp_path, Sender(relationship="cousin"))


def test_the_command_writes_the_folder(eqlab, store, stored, tmp_path):
    said = eqlab("export", stored.id, "--format", "every-eval-ever", "-o", str(tmp_path / "x"), "--store", store.where)
    assert "data/eqlab/openai/m" in said.out
    assert list((tmp_path / "x/data/eqlab/openai/m").glob("*.json"))

"""The JSON API: what it tells, and that nothing a program sends breaks it."""

import json

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from small_study import answer_for, small_design
from web_case import Site, enter

schemathesis = pytest.importorskip("schemathesis")
CHECKS = (
    schemathesis.checks.not_a_server_error,
    schemathesis.checks.status_code_conformance,
    schemathesis.checks.content_type_conformance,
    schemathesis.checks.response_schema_conformance,
)


def test_a_program_walks_through(make_site):
    site = make_site()
    client = site.browser()
    enter(client)
    for _ in range(20):
        page = client.get("/api/s/small/page").json()
        if page["kind"] is None:
            break
        if page["kind"] == "consent":
            sent = {"step": 0, "agree": True}
        else:
            person = client.cookies["eqlab_small"].partition(".")[0]
            values = answer_for(site.participation.look(person))
            sent = {"step": page["number"], "attempt": page["attempt"], "values": values, "away": 1.5}
        reply = client.post("/api/s/small/page", json=sent)
        assert reply.json() == {"outcome": "saved", "problems": {}}
        again = client.post("/api/s/small/page", json=sent).json()
        assert (again["outcome"] in ("again", "ended"), again["problems"]) == (True, {})
    assert (page["state"], page["ending"], page["form"]) == ("finished", "complete", [])


def test_another_answer_than_the_one_on_disk_is_dropped_and_says_so(make_site):
    """`again`, it said, which means that it is on disk: of another one."""
    client = make_site(small_design(quiz=False, attention=0)).browser()
    client.post("/s/small/start")
    client.post("/api/s/small/page", json={"step": 0, "agree": True})
    page = client.get("/api/s/small/page").json()
    first, other = ({one["key"]: one[end] for one in page["form"]} for end in ("low", "high"))
    sent = {"step": page["number"], "attempt": page["attempt"], "values": first}
    assert client.post("/api/s/small/page", json=sent).json() == {"outcome": "saved", "problems": {}}
    assert client.post("/api/s/small/page", json=sent).json() == {"outcome": "again", "problems": {}}
    told = client.post("/api/s/small/page", json={**sent, "values": other}).json()
    assert told == {"outcome": "again", "problems": {"page": "dropped"}}


def test_arm_key_and_right_answers_are_not_told(make_site):
    site = make_site(small_design(arms=("secret-arm", "other-arm"), quiz=True))
    client = site.browser()
    client.post("/s/small/start")
    seen = []
    for step in range(6):
        page = client.get("/api/s/small/page").json()
        seen.append(page)
        assert set(page) == {"state", "number", "total", "kind", "attempt", "stimulus", "form", "ending"}
        told = {key for scale in page["form"] for key in scale}
        assert not told & {"right", "reverse", "arm", "gold"}
        person = client.cookies["eqlab_small"].partition(".")[0]
        values = answer_for(site.participation.look(person)) if page["kind"] != "consent" else {}
        client.post("/api/s/small/page", json={"step": step, "values": values, "agree": True})
    assert not any('"right"' in json.dumps(page) or '"arm"' in json.dumps(page) for page in seen)


def test_a_refusal_names_the_field_and_repeats_nothing(make_site):
    site = make_site(small_design(quiz=False, attention=0))
    client = site.browser()
    client.post("/s/small/start")
    assert client.post("/api/s/small/page", json={"step": 0}).json()["problems"] == {"agree": "missing"}
    client.post("/api/s/small/page", json={"step": 0, "agree": True})
    reply = client.post("/api/s/small/page", json={"step": 1, "values": {"rating": 9}})
    assert reply.json() == {"outcome": "refused", "problems": {"rating": "off"}}
    odd = client.post("/api/s/small/page", json={"step": 1, "values": {"rating": "my-secret-words"}})
    assert odd.json() == {"outcome": "refused", "problems": {"rating": "off"}}
    assert "my-secret-words" not in odd.text


def test_fuzzed_by_its_own_description(tmp_path):
    """Schemathesis makes requests, right and wrong, from the OpenAPI document; every reply must be as described."""
    site = Site(tmp_path, small_design(), public_url="http://testserver")  # as the tool calls it
    client = site.browser(headers={"Host": "testserver"})
    client.post("/s/small/start")
    cookie = f"eqlab_small={client.cookies['eqlab_small']}"
    schema = schemathesis.openapi.from_asgi("/openapi.json", site.app)
    seen: list[int] = []
    for found in schema.get_all_operations():
        fuzz(found.ok(), cookie, seen)
    assert {200, 404, 422} <= set(seen)
    assert len(seen) >= 60
    site.close()


def fuzz(operation, cookie, seen, study="small"):
    """Half of the requests go to a study that is there."""
    cases = st.one_of(
        operation.as_strategy(),
        operation.as_strategy(generation_mode=schemathesis.GenerationMode.NEGATIVE),
    )

    @settings(
        max_examples=40,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(cases, st.booleans())
    def one(case, there):
        if there:
            case.path_parameters = {"study": study}
        reply = case.call(headers={"Cookie": cookie, "Sec-Fetch-Site": "same-origin"})
        seen.append(reply.status_code)
        case.validate_response(reply, checks=CHECKS)

    one()

"""The HTML report: one self-contained page from run records, and the item pages it links to. Pure.

Everything printed passes `visible` and autoescape, because replies are untrusted text."""

from collections.abc import Iterator, Sequence
from typing import Any

from markupsafe import Markup

from eqlab.publish.groups import Group, RunRecord, group
from eqlab.publish.report import opening, sections
from eqlab.publish.report.words import item_rows, page_environment, policy, source
from eqlab.tables import forest


def render(
    records: Sequence[RunRecord],
    *,
    generated_at: float,
    version: str,
    items: str = "",
    talks: str = "",
    groups: Sequence[Group] = (),
) -> str:
    """The whole report as one HTML page that loads nothing. `items`: the folder with item pages that it links to;
    `talks`: the address of the list of talks; `groups`: the records' tables, by who has made them already."""
    made = page_environment()
    groups = groups or group(records)
    openings = opening.openings(groups)
    alone = opening.embedded_only(records) and not any(one.among for one in openings)
    style, script = source(made, "report.css"), source(made, "report.js")
    return made.get_template("report.html.j2").render(
        records=records,
        groups=groups,
        openings=openings,
        landscape=opening.landscape() if alone else None,
        once=opening.said_once(records),
        profiles=(profiles := sections.profiles_of(groups)),
        branches=sections.measured_branches(groups) if profiles else None,
        links=sections.links_to(items, groups) if items else sections.no_links(),
        draw=forest.inline,
        most=item_rows(sum(len(one.rows) for one in groups)),
        talks=talks,
        generated_at=generated_at,
        version=version,
        style=Markup(style),
        script=Markup(script),
        policy=policy(style, script),
    )


def item_files(
    records: Sequence[RunRecord], *, back: str, generated_at: float, version: str, groups: Sequence[Group] = ()
) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every item page and every list by emotion; `back` is the report's own address from there."""
    made = page_environment()
    style = source(made, "report.css")
    frame: dict[str, Any] = {"style": Markup(style), "script": Markup(""), "policy": policy(style)}
    frame |= {"generated_at": generated_at, "version": version, "back": back}
    groups = groups or group(records)
    known = sections.links_to("", groups).places
    for row in (row for one in groups for row in one.rows if not row.again):
        own, items = known[row.anchor], row.result.items
        template = made.get_template("item_page.html.j2")
        for page in own.pages:
            html = template.render(**frame, row=row, page=page, own=own, items=list(sections.on_page(page, items)))
            yield page.href, html.encode("utf-8", "replace")
        template = made.get_template("item_list.html.j2")
        for topic, listed in own.topics.items():
            chosen = sections.of_topic(topic, items)
            for page in listed:
                shown = chosen[page.first - 1 : page.last]
                html = template.render(
                    **frame, row=row, page=page, listed=listed, own=own, topic=topic, items=shown, total=len(chosen)
                )
                yield page.href, html.encode("utf-8", "replace")

"""The HTML report: one self-contained page from run records, and the item pages it links to. Pure.

Everything printed passes `visible` and autoescape, because replies are untrusted text."""

from collections.abc import Iterator, Sequence

from eqlab.publish import sections
from eqlab.publish.components import in_points, inlined, item_rows, page_bytes, page_environment
from eqlab.publish.groups import Group, RunRecord, group
from eqlab.publish.report import opening


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
    groups = groups or group(records)
    openings = opening.openings(groups)
    alone = opening.embedded_only(records) and not any(one.among for one in openings)
    return (
        page_environment()
        .get_template("report.html.j2")
        .render(
            records=records,
            groups=groups,
            openings=openings,
            landscape=opening.landscape() if alone else None,
            once=opening.said_once(records),
            profiles=(profiles := sections.profiles_of(groups)),
            branches=sections.measured_branches(groups) if profiles else None,
            links=sections.links_to(items, groups) if items else sections.no_links(),
            most=item_rows(sum(len(one.rows) for one in groups)),
            talks=talks,
            generated_at=generated_at,
            version=version,
            **inlined(("report.css",), ("report.js",)),
        )
    )


def item_files(
    records: Sequence[RunRecord], *, back: str, generated_at: float, version: str, groups: Sequence[Group] = ()
) -> Iterator[tuple[str, bytes]]:
    """(name, content) of every item page and every list by emotion; `back` is the report's own address from there."""
    frame = {**inlined(("report.css",)), "generated_at": generated_at, "version": version, "back": back}
    groups = groups or group(records)
    known = sections.links_to("", groups).places
    for row in (row for one in groups for row in one.rows if not row.again):
        own, items = known[row.anchor], in_points(row.result).items
        for page in own.pages:
            shown = list(sections.on_page(page, items))
            yield page.href, page_bytes("item_page.html.j2", **frame, row=row, page=page, own=own, items=shown)
        for topic, listed in own.topics.items():
            chosen = sections.of_topic(topic, items)
            for page in listed:
                about = {"row": row, "page": page, "listed": listed, "own": own, "topic": topic, "total": len(chosen)}
                shown = chosen[page.first - 1 : page.last]
                hrefs = [own.of_items[number - 1] for number, _ in shown]
                yield page.href, page_bytes("item_list.html.j2", **frame, **about, items=shown, hrefs=hrefs)

"""Addresses: whether a server can be reached from elsewhere, and what kind of device asks."""

import ipaddress
import re
from urllib.parse import urlsplit


def is_local(host: str, public_url: str) -> bool:
    """Whether only this machine can reach the server."""
    names = [host] + ([urlsplit(public_url).hostname or ""] if public_url else [])
    return all(name == "localhost" or is_loopback_name(name) for name in names)


def is_loopback_name(name: str) -> bool:
    try:
        return ipaddress.ip_address(name.strip("[]")).is_loopback
    except ValueError:
        return False


def device_class(agent: str) -> str | None:
    """phone, tablet or computer by what the browser says of itself; None when it says nothing. Nothing finer is kept:
    the rest would help to recognise somebody."""
    if not agent:
        return None
    if re.search(r"iPad|Tablet|Android(?!.*Mobile)", agent):
        return "tablet"
    return "phone" if re.search(r"Mobi|iPhone|Android", agent) else "computer"

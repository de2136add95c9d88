"""Where an embedding provider is asked, and whether that is another machine."""

from __future__ import annotations

from urllib.parse import urlsplit

BASES = {"openai": "https://api.openai.com", "openrouter": "https://openrouter.ai/api/v1"}
CUSTOM = "custom:"


def url_of(provider: str) -> str:
    """The address that `openai`, `openrouter` or `custom:<url>` is asked at."""
    return endpoint(BASES.get(provider) or provider.removeprefix(CUSTOM))


def host_of(provider: str) -> str:
    """The host of that address, without user and password; "" where it names none."""
    return urlsplit(url_of(provider)).hostname or ""


def endpoint(base: str) -> str:
    """Where to post: a base that ends in /embeddings itself, else one with a path + /embeddings, else + /v1/embeddings.

    The rule of every ZeroClaw version.
    """
    stripped = base.rstrip("/")
    path = urlsplit(stripped).path.rstrip("/")
    if path.endswith("/embeddings"):
        return stripped
    return f"{stripped}/embeddings" if path else f"{stripped}/v1/embeddings"


def leaves_this_machine(url: str) -> bool:
    """True when what is sent to an address goes to another machine: that of the address, or of a proxy on the way.

    HTTP_PROXY, HTTPS_PROXY and ALL_PROXY hold for this machine's own addresses too, unless NO_PROXY names them.
    """
    # What knows of proxies takes longer to import than a list takes to read.
    import urllib.request

    parts = urlsplit(url)
    host = parts.hostname or ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get(parts.scheme) or proxies.get("all")
    if not is_loopback(host):
        return True
    if not proxy or urllib.request.proxy_bypass(host):
        return False
    try:
        between = urlsplit(proxy if "://" in proxy else f"http://{proxy}").hostname
    except ValueError:
        return True
    return not is_loopback(between or "")


def is_loopback(host: str) -> bool:
    """True for the name or address of this machine itself."""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    import ipaddress

    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False

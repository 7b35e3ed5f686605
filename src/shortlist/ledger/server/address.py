"""Where a server and a ledger on it are; its password is kept to itself."""

from __future__ import annotations

import re
from typing import Any, Self
from urllib.parse import parse_qsl, quote, urlencode

from psycopg.conninfo import conninfo_to_dict

SHOWN = ("host", "hostaddr", "port", "user", "dbname", "service", "sslmode")
"""Of what libpq knows. Everything else might be a secret, or hold one."""
SECRET = ("password", "sslpassword", "scram_client_key", "scram_server_key", "oauth_client_secret")
PATIENCE = {"connect_timeout": "10", "keepalives_idle": "30", "tcp_user_timeout": "30000"}
"""Unless the address says otherwise: a network that swallows everything is noticed after half a minute."""
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,62}")
EXAMPLE = 'write "postgresql://user@host/database?name=q4", for example'


class Address:
    """A server, a database and the name of a ledger in it, with what is needed to log in."""

    __slots__ = ("_options", "name")

    def __init__(self, name: str, options: dict[str, Any]) -> None:
        self.name, self._options = name, options

    @classmethod
    def of(cls, url: str) -> Self:
        """From a URL as libpq has them, with `name=` among its parameters.

        Raises
        ------
        ValueError
            that does not repeat the URL, for there may be a password in it.
        """
        parts = _parts(url)
        if parts is None:
            raise ValueError(f"path must be the address of a server: {EXAMPLE}")
        names, rest = parts
        if len(names) != 1 or not NAME.fullmatch(names[0]):
            raise ValueError(
                "name must be given once, in letters, digits, dots, hyphens and underscores, 63 at most, beginning "
                f"with a letter or a digit: {EXAMPLE}"
            )
        options = _options(rest)
        if options is None:
            raise ValueError(f"path must be the address of a server as libpq has them: {EXAMPLE}")
        return cls(names[0], {**PATIENCE, **options})

    @property
    def says_where(self) -> bool:
        """Whether it names its host and its database itself, and leaves neither to variables or to a service file."""
        here = self._options
        return bool((here.get("host") or here.get("hostaddr")) and here.get("dbname") and not here.get("service"))

    def login(self) -> dict[str, Any]:
        """What psycopg is told, with the password. Nobody else is."""
        return {**self._options, "application_name": "shortlist"}

    def __str__(self) -> str:
        """The address without its secrets: it opens the ledger again where no password is asked for."""
        said = {name: str(self._options[name]) for name in SHOWN if self._options.get(name)}
        user, host, port = (said.pop(name, "") for name in ("user", "host", "port"))
        if not re.fullmatch(r"[A-Za-z0-9.-]*", host):  # a socket's folder, several hosts, an IPv6 address
            said["host"], host = host, ""
        if port and (not host or not port.isdigit()):
            said["port"], port = port, ""
        place = (f"{quote(user, safe='')}@" if user else "") + host + (f":{port}" if port else "")
        base = quote(said.pop("dbname", ""), safe="")
        return f"postgresql://{place}/{base}?{urlencode({**said, 'name': self.name}, quote_via=quote)}"

    def __repr__(self) -> str:
        return f"Address({str(self)!r})"

    def __reduce__(self) -> Any:
        """A copy in another process has no password: libpq finds it where it found it here, in a file of passwords."""
        return Address, (self.name, {name: one for name, one in self._options.items() if name not in SECRET})


def _parts(url: str) -> tuple[list[str], str] | None:
    """(the names, the URL without them)."""
    base, _, query = url.partition("?")
    try:
        query = query.replace("+", "%2B")  # libpq knows no other way to write a space than %20
        words = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query))
    except ValueError:
        return None
    rest = urlencode([(word, value) for word, value in words if word != "name"], quote_via=quote)
    names = [value for word, value in words if word == "name"]
    return None if "\0" in url or "%00" in url else (names, f"{base}?{rest}" if rest else base)


def _options(url: str) -> dict[str, Any] | None:
    try:
        options = conninfo_to_dict(url)
    except Exception:  # its words repeat the URL
        return None
    host, base, port = (str(options.get(name) or "") for name in ("host", "dbname", "port"))
    # a password in which @ or / was not written as %40 or %2F ends up in these, which are shown; so does password=...
    shown = re.fullmatch(r"[0-9,]*", port) and not re.search("[@=]", host) and not re.search("[@/=]", base)
    return options if shown else None

"""Places that data name: opened without credentials, unless a person named their servers, and never on this machine.

Ways in which a location can come from data, and where each is tested:

- friends that a tree records, in a local and in a remote file, by URL, by a relative name, through fsspec;
- friends that those friends record;
- the files of an index of events;
- redirects of HTTP servers;
- redirects of XRootD servers, to which tokens go that the first server may see, as federations need, and no others;
- metalinks, as a document and in the head of an answer, and the place that S3 names for a bucket: nobody follows them;
- the baskets of a branch in another file (TBranch::SetFile), which are not opened at all;
- the file names of an entry list and the elements of a TChain in a file, which are names and nothing else;
- lists of a server (HTTP, S3, XRootD), which nobody asks for: globs are of local files, and a list is no file;
- partitions, which hold what was typed;
- the configuration of the working directory, which nobody reads.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import zipfile
from functools import partial
from threading import Thread

import pytest

import arrowroot as ar
from arrowroot._api.tree_metadata import TreeMetadata
from arrowroot_servers import S3, Certificates, Nginx, XRootD
from tests.servers.fixtures import installed

from . import data
from .conftest import EVENTS
from .listening import Server

TOKEN = "Hush7Fg2LantErn"  # noqa: S105 - nobody's
KEYS = {"AWS_ACCESS_KEY_ID": "AKIAEXAMPLE", "AWS_SECRET_ACCESS_KEY": TOKEN, "AWS_REGION": "r"}


@pytest.fixture
def server(served):
    with contextlib.ExitStack() as stack:

        def start(redirect="", answer=None, certificates=None):
            found = Server(served, redirect, answer, certificates)
            stack.callback(found.close)
            return found

        yield start


@pytest.fixture(autouse=True)
def alone(monkeypatch, tmp_path):
    """No configuration, and no credentials, of the one who runs the tests."""
    for name in (
        "ARROWROOT_TOKEN",
        "BEARER_TOKEN",
        "BEARER_TOKEN_FILE",
        "X509_USER_PROXY",
        "ARROWROOT_CONFIG",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


@pytest.fixture
def records(monkeypatch):
    """Have trees of some files record a friend each: what was written into them is up to who wrote them."""
    friends: dict[str, str] = {}

    def recorded(tree):
        found = next((place for url, place in friends.items() if url in tree.location), None)
        return [] if found is None else [("f", data.TREE, found)]

    monkeypatch.setattr(TreeMetadata, "recorded_friends", property(recorded))
    return friends


def with_friends(url, **options):
    tree = ar.open(url, **options)[data.TREE]
    tree.add_recorded_friends()
    return tree


#: How a token is given.
GIVEN = {
    "argument": ("", {"token": TOKEN}, {}),
    "URL": (f"?arrowroot.token={TOKEN}", {}, {}),
    "environment": ("", {}, {"ARROWROOT_TOKEN": TOKEN}),
}


@pytest.mark.parametrize("way", GIVEN)
@pytest.mark.parametrize("is_local", [False, True])
def test_a_recorded_friend_elsewhere_is_opened_without_the_token(server, records, monkeypatch, way, is_local):
    main, other = server(), server()
    query, options, environment = GIVEN[way]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    url = str(main.directory / EVENTS) if is_local else main.url()
    records[url] = other.url()
    tree = with_friends(url + query, **options)
    assert tree.to_arrow("f.x001").num_rows == data.N_ENTRIES
    assert not other.was_shown()
    assert is_local or main.was_shown()


@pytest.mark.parametrize(
    "named",
    ["{place}", "127.0.0.1", "http://{place}", "elsewhere.org {place}", ["elsewhere.org", "{place}"]],
)
@pytest.mark.parametrize("way", ["argument", "environment"])
def test_credentials_for_adds_a_server(server, records, monkeypatch, named, way):
    main, other = server(), server()
    records[main.url()] = other.url()
    text = [one.format(place=other.place) for one in ([named] if isinstance(named, str) else named)]
    options = {"token": TOKEN}
    if way == "argument":
        options["credentials_for"] = text if isinstance(named, list) else text[0]
    else:
        monkeypatch.setenv("ARROWROOT_CREDENTIALS_FOR", ",".join(text))
    with_friends(main.url(), **options)
    assert other.was_shown()


@pytest.fixture
def friend(served):
    """The name of a file beside that of the events, as a tree that is its own friend is none."""
    path = served / "friend.root"
    path.hardlink_to(served / EVENTS)
    yield path.name
    path.unlink()


def test_a_friend_of_the_same_server_sees_what_it_sees(server, records, friend):
    main = server()
    for name in (friend, f"../d/{friend}", main.url(friend), f"http://other@{main.place}/d/{friend}"):
        records[main.url()] = name
        main.seen.clear()
        with_friends(main.url(), token=TOKEN)
        assert all(main.seen), name


def test_a_friend_of_a_friend_gains_nothing(server, records):
    main, other, third = server(), server(), server()
    records[main.url()] = other.url()
    records[other.url()] = third.url()
    tree = with_friends(main.url(), token=TOKEN)
    if not third.seen:
        # By hand, as a friend opens its own.
        friend = tree._file_of_friend(other.url())[data.TREE]
        friend.add_recorded_friends()
    assert not other.was_shown()
    assert not third.was_shown()


@pytest.mark.parametrize("setting", ["token", "nothing", "any host"])
def test_a_table_of_the_configuration_names_its_host(server, records, tmp_path, setting):
    main, other = server(), server()
    records[main.url()] = other.url()
    folder = tmp_path / "config" / "arrowroot"
    folder.mkdir(parents=True)
    glob = "*" if setting == "any host" else f"http://{other.place}/*"
    line = "retries = 1" if setting == "nothing" else 'token = "of-the-table"'
    (folder / "config.toml").write_text(f'[for."{glob}"]\n{line}\n')
    with_friends(main.url(), token=TOKEN)
    assert other.seen
    expected = "Bearer of-the-table" if setting == "token" else None
    assert set(other.seen) == {expected}
    assert set(main.seen) == {f"Bearer {TOKEN}"}


@pytest.mark.parametrize(
    "name", ["/etc/passwd", "file:///etc/passwd", "FILE://localhost/etc/passwd", "file://etc/passwd"]
)
def test_a_remote_file_opens_no_file_of_this_machine(server, records, name):
    main = server()
    records[main.url()] = name
    with pytest.raises(ar.InvalidRequestError, match=r"only if you name it yourself .*add_friend"):
        with_friends(main.url())


def test_a_relative_name_in_a_remote_file_is_beside_it(server, served, records, friend, monkeypatch):
    main = server()
    monkeypatch.chdir(served)
    records[main.url()] = friend
    assert with_friends(f"{main.url()}?x=a/b").to_arrow("f.x001").num_rows == data.N_ENTRIES
    assert with_friends(main.url())._chain.friends[0].part.location.startswith("http://")


def test_a_local_file_may_name_another(served, records, friend):
    path = str(served / EVENTS)
    records[path] = str(served / friend)
    assert with_friends(path).to_arrow("f.x001").num_rows == data.N_ENTRIES


@pytest.mark.parametrize(
    "name",
    ["memory://host/f.root", "local:///etc/passwd", "zip://f::file:///etc/passwd", "simplecache::http://h/f"],
)
@pytest.mark.parametrize("is_local", [False, True])
def test_a_file_system_that_may_show_credentials_is_not_asked(server, served, records, name, is_local):
    url = str(served / EVENTS) if is_local else server().url()
    records[url] = name
    with pytest.raises((ar.AccessDeniedError, ar.InvalidRequestError, ar.NoSuchFileError)) as caught:
        with_friends(url)
    # A name without a scheme is that of a file beside.
    assert "fsspec cannot be kept" in str(caught.value) or "://" not in name.partition("::")[0]


def test_a_chain_of_file_systems_that_was_typed_is_opened(served, tmp_path):
    pytest.importorskip("fsspec")
    with zipfile.ZipFile(tmp_path / "a, b.zip", "w") as archive:
        archive.write(served / EVENTS, "inside")
    url = f"zip://inside::{tmp_path / 'a, b.zip'}"
    assert ar.open(url)[data.TREE].num_entries == data.N_ENTRIES
    assert ar.open(url, replicas=[url])[data.TREE].num_entries == data.N_ENTRIES


def test_a_file_system_that_was_typed_opens_friends_in_it(served, records):
    fsspec = pytest.importorskip("fsspec")
    content = (served / EVENTS).read_bytes()
    for name in ("main.root", "friend.root"):
        with fsspec.open(f"memory://d/{name}", "wb") as file:
            file.write(content)
    records["memory://d/main.root"] = "friend.root"
    assert with_friends("memory://d/main.root").to_arrow("f.x001").num_rows == data.N_ENTRIES


def test_a_url_in_a_file_sets_no_options(server, records):
    main, other = server(), server()
    query = f"?arrowroot.credentials_for={other.place}&arrowroot.token={TOKEN}"
    records[main.url()] = other.url() + query
    with_friends(main.url(), token=TOKEN)
    assert not other.was_shown()


@pytest.fixture
def indexed(server, tmp_path):
    """An index of a file at a server."""
    other = server()
    made = ar.index(other.url(), tmp_path / "index.parquet", data.TREE, columns=["x002"])
    other.seen.clear()
    return other, made.events.path


def pick(index, **options):
    return ar.pick(index, [(0,)], ["x002"], missing="ignore", **options).num_rows


def test_the_files_of_an_index_see_no_token(indexed, monkeypatch):
    other, index = indexed
    pick(index, token=TOKEN)
    monkeypatch.setenv("ARROWROOT_TOKEN", TOKEN)
    pick(index)
    assert not other.was_shown()
    pick(index, credentials_for=[other.place])
    assert other.was_shown()


def test_where_redirects_lead_no_token_goes(server):
    other = server()
    main = server(redirect=other.url())
    ar.open(main.url(), token=TOKEN, credentials_for=[other.place])
    assert main.was_shown()
    assert not other.was_shown()


def test_partitions_show_credentials_to_what_was_typed(server, records):
    main, other = server(), server()
    pieces = ar.partitions(
        main.url(), data.TREE, ["x001"], token=TOKEN, friends={"f": f"{other.url()}:{data.TREE}"}
    )
    other.seen.clear()
    assert all(one.location == main.url() for one in pieces)
    piece = pickle.loads(pickle.dumps(pieces[0]))  # noqa: S301 - of our own
    assert piece.read().num_rows == piece.num_entries
    assert main.was_shown()
    # What a file records is no part of it.
    third = server()
    records[main.url()] = third.url()
    piece.read()
    assert not third.seen


def test_no_configuration_of_the_working_directory_is_read(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name in ("config.toml", "arrowroot.toml", ".arrowroot.toml"):
        (tmp_path / name).write_text('token = "of-the-directory"')
    main = server()
    ar.open(main.url())
    assert not main.was_shown()


def test_globs_of_urls_are_not_expanded(server):
    main = server()
    with pytest.raises(ar.ArrowrootError):
        ar.scan(f"http://{main.place}/d/*.toor", data.TREE, retries=0)
    assert len(set(main.seen)) <= 1


@pytest.fixture(scope="module")
def certificates(tmp_path_factory):
    return installed(lambda: Certificates(tmp_path_factory.mktemp("certificates")))


def test_what_is_found_in_the_environment_stays_here_too(start, served, certificates, records, monkeypatch):
    """A bearer token over TLS, and a certificate."""
    monkeypatch.setenv("ARROWROOT_AUTHORITIES", str(certificates.authority))
    monkeypatch.setenv("BEARER_TOKEN", TOKEN)
    monkeypatch.setenv("X509_USER_CERT", str(certificates.client))
    monkeypatch.setenv("X509_USER_KEY", str(certificates.client_key))
    main = str(served / EVENTS)
    for guarded in (
        start(lambda: Nginx(served, certificates=certificates, token=TOKEN)),
        start(lambda: Nginx(served, certificates=certificates)),
    ):
        assert ar.open(guarded.url(EVENTS))[data.TREE].num_entries == data.N_ENTRIES
        records[main] = guarded.url(EVENTS)
        with pytest.raises(ar.StorageError) as caught:
            with_friends(main, retries=0)
        assert TOKEN not in str(caught.value)
        if isinstance(caught.value, PermissionError):
            assert 'credentials_for=["host"]' in str(caught.value)
        with_friends(main, credentials_for="127.0.0.1")


#: Places of a friend: of the other server in other words, and such as look like the main one.
SPELLED = {
    "https://{other}/d/{name}": True,
    "HTTPS://{other}/d/{name}?arrowroot.token=x&arrowroot.credentials_for={other}": True,
    "https://localhost:{port}/d/{name}": True,
    "https://me:pw@{other}/d/{name}": True,
    "https://{main}@{other}/d/{name}": True,
    "https://{other}\\@{main}/d/{name}": True,
    "https://2130706433:{port}/d/{name}": True,
    "http://{plain}/d/{name}": True,
    "s3+https://{other}/bucket/{name}": True,
    # These are names of files beside the main one.
    "https:/{other}/d/{name}": False,
    " https://{other}/d/{name}": False,
    "ht\ttps://{other}/d/{name}": False,
    "https://{main}\\@{other}/d/{name}": False,
}


@pytest.fixture
def over_tls(server, certificates, monkeypatch):
    """Start servers over TLS, of clients that have a certificate and keys of S3."""
    monkeypatch.setenv("ARROWROOT_AUTHORITIES", str(certificates.authority))
    monkeypatch.setenv("X509_USER_CERT", str(certificates.client))
    monkeypatch.setenv("X509_USER_KEY", str(certificates.client_key))
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    return partial(server, certificates=certificates)


@pytest.mark.parametrize("spelled", SPELLED)
def test_a_friend_elsewhere_over_tls_sees_neither_token_nor_certificate(
    server, over_tls, records, friend, spelled
):
    main, other, plain = over_tls(), over_tls(), server()
    port = other.place.partition(":")[2]
    # A connection on which a certificate was shown is there for the next who may show it.
    ar.open(other.url())
    assert all(other.proved)
    for noted in (other.proved, other.seen, other.asked):
        noted.clear()
    words = {"main": main.place, "other": other.place, "plain": plain.place, "port": port, "name": friend}
    records[main.url()] = spelled.format(**words)
    tree = with_friends(main.url(), token=TOKEN)
    assert tree.to_arrow("f.x001").num_rows == data.N_ENTRIES
    assert all(main.seen)
    assert all(main.proved)
    heard = [*other.seen, *plain.seen]
    assert bool(other.asked or plain.asked) is SPELLED[spelled]
    assert not any(TOKEN in (shown or "") for shown in heard)
    assert not any(other.proved)
    assert not any("X-Amz" in path or TOKEN in path for path in [*other.asked, *plain.asked])


@pytest.mark.parametrize("to", ["https", "http"])
def test_a_friend_that_redirects_takes_no_token_along(server, over_tls, records, friend, to):
    other = over_tls() if to == "https" else server()
    main, there = over_tls(), over_tls(redirect=other.url(friend))
    records[main.url()] = there.url()
    with_friends(main.url(), token=TOKEN, credentials_for=[there.place])
    assert there.was_shown()
    assert not other.was_shown()


def test_keys_of_s3_sign_nothing_for_a_bucket_that_a_file_names(start, served, records, monkeypatch):
    server = start(S3)
    server.put(EVENTS, (served / EVENTS).read_bytes())
    for name, value in server.environment.items():
        monkeypatch.setenv(name, value)
    url = server.url(EVENTS)
    assert ar.open(url)[data.TREE].num_entries == data.N_ENTRIES
    main = str(served / EVENTS)
    records[main] = url
    with pytest.raises(PermissionError, match="credentials_for"):
        with_friends(main)
    bucket = url.partition("://")[2].partition("/")[0]
    with_friends(main, credentials_for=[bucket])


def test_an_xrootd_server_is_not_told_the_account(served, records, monkeypatch):
    monkeypatch.setenv("USER", "Acc0untOfMine")
    heard = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def listen():
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        heard.extend(connection.recv(4096))

        Thread(target=listen, daemon=True).start()
        place = f"root://127.0.0.1:{listener.getsockname()[1]}//f.root"
        main = str(served / EVENTS)
        records[main] = place
        for is_named in (False, True):
            heard.clear()
            options = {"credentials_for": "127.0.0.1"} if is_named else {}
            with pytest.raises(ar.StorageError):
                with_friends(main, retries=0, token=TOKEN if is_named else "", **options)
            assert heard
            assert TOKEN.encode() not in heard
            if not is_named:
                assert b"Acc0unt" not in heard


METALINK = """<?xml version="1.0" encoding="UTF-8"?>
<metalink xmlns="urn:ietf:params:xml:ns:metalink"><file name="events.root"><size>1000</size>
<url location="ch" priority="1">{url}</url><metaurl mediatype="torrent">{url}.torrent</metaurl></file></metalink>
"""


@pytest.mark.parametrize("way", GIVEN)
@pytest.mark.parametrize("status", [200, 300])
def test_a_metalink_leads_nowhere(server, monkeypatch, way, status):
    """Neither one that is the answer, nor the links in the head of one (RFC 5854, RFC 6249)."""
    other = server()
    query, options, environment = GIVEN[way]
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    headers = {
        "Content-Type": "application/metalink4+xml",
        "Link": f"<{other.url()}>; rel=duplicate; pri=1, <{other.url()}.meta4>; rel=describedby",
        "Digest": "SHA-256=",
    }
    main = server(answer=(status, headers, METALINK.format(url=other.url()).encode()))
    for name in (EVENTS, f"{EVENTS}.meta4", f"{EVENTS}.metalink"):
        with pytest.raises(ar.ArrowrootError) as caught:
            ar.open(main.url(name) + query, retries=0, **options)
        assert TOKEN not in str(caught.value)
    assert main.was_shown()
    assert not other.seen


def test_the_links_beside_a_file_are_not_followed_when_it_fails(server, served):
    other = server()
    head = {"Content-Range": "bytes 0-99/1000", "Link": f"<{other.url()}>; rel=duplicate"}
    main = server(answer=(206, head, (served / EVENTS).read_bytes()[:100]))
    with pytest.raises(ar.ArrowrootError):
        ar.open(main.url(), token=TOKEN, retries=0)[data.TREE].to_arrow()
    assert main.was_shown()
    assert not other.seen


LISTING = """<?xml version="1.0" encoding="UTF-8"?>
<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>bucket</Name><IsTruncated>true</IsTruncated>
<NextContinuationToken>{url}</NextContinuationToken><Contents><Key>{url}</Key><Size>9</Size></Contents></ListBucketResult>
"""
ELSEWHERE = """<?xml version="1.0" encoding="UTF-8"?>
<Error><Code>PermanentRedirect</Code><Endpoint>{place}</Endpoint><Bucket>bucket</Bucket></Error>
"""


@pytest.mark.parametrize("answer", ["list", "redirect", "redirect with its place"])
def test_what_an_s3_server_names_is_asked_for_nothing_with_its_keys(server, monkeypatch, answer):
    """It is never asked for a list; what it says to be elsewhere gets no signature."""
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    other = server()
    body = (LISTING if answer == "list" else ELSEWHERE).format(url=other.url(), place=other.place).encode()
    headers = {"Location": other.url()} if answer == "redirect with its place" else {}
    main = server(answer=(200 if answer == "list" else 307, headers, body))
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://{main.place}")
    for key in ("f.root", "*.root", "folder/"):
        with contextlib.suppress(ar.ArrowrootError):
            ar.scan(f"s3://bucket/{key}", data.TREE, ["x001"], retries=0)
    assert main.asked
    assert all("X-Amz-Signature" in path for path in main.asked)
    assert not any("list-type" in path for path in main.asked)
    assert not other.was_shown() if headers else not other.seen
    assert not any("X-Amz" in path or "AKIA" in path for path in other.asked)


class Overheard:
    """What clients send to a server, which they reach through here."""

    def __init__(self, port):
        self.heard = bytearray()
        self._target = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.create_connection(("127.0.0.1", self._target))
                Thread(target=self._pass, args=(client, server, self.heard), daemon=True).start()
                Thread(target=self._pass, args=(server, client, bytearray()), daemon=True).start()

    def _pass(self, source, sink, heard):
        with contextlib.suppress(OSError):
            while some := source.recv(1 << 16):
                heard += some
                sink.sendall(some)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self):
        self._listener.close()


@pytest.fixture
def redirecting(start, served):
    """Two XRootD servers, the first of which redirects to the second, and what both hear."""
    back = start(lambda: XRootD(served))
    with contextlib.closing(Overheard(back.port)) as behind:
        front = start(lambda: XRootD(served, redirect_to=behind.port))
        with contextlib.closing(Overheard(front.port)) as before:
            yield front.url(EVENTS, before.port), before, behind


@pytest.mark.parametrize("is_named", [False, True])
def test_where_an_xrootd_server_redirects_no_more_is_told_than_the_first_may_know(
    redirecting, served, records, monkeypatch, is_named
):
    """A token goes encrypted only; what the connections are not is plain to hear."""
    monkeypatch.setenv("USER", "Acc0untOfMine")
    url, before, behind = redirecting
    main = str(served / EVENTS)
    records[main] = url
    with_friends(main, token=TOKEN, credentials_for=[f"127.0.0.1:{before.port}"] if is_named else [])
    for server in (before, behind):
        assert server.heard
        assert TOKEN.encode() not in server.heard
        assert (b"Acc0unt" in server.heard) is is_named


def test_what_was_typed_for_an_xrootd_server_goes_where_that_redirects(redirecting):
    url, before, behind = redirecting
    assert ar.open(f"{url}?authz={TOKEN}")[data.TREE].num_entries == data.N_ENTRIES
    for server in (before, behind):
        assert TOKEN.encode() in server.heard

"""Options come from arguments, URL, environment and files, in this order; slips are errors."""

import contextlib
import json
import os
import socket
import time
from threading import Thread
from typing import get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

import arrowroot as ar
from arrowroot import InvalidRequestError, StorageError, _native, split_url
from arrowroot._storage import config
from arrowroot._storage.url import split_options
from tests.recorded import session


@pytest.fixture(autouse=True)
def nothing_set(tmp_path, monkeypatch):
    """Let no option be set by who runs the tests."""
    for name in list(os.environ):
        if name.startswith("ARROWROOT_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))


def in_force(url="", **arguments):
    return {
        option.name: (option.value, option.origin) for option in ar.configuration(url, **arguments).options
    }


def write(path, text):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_the_keyword_arguments_are_the_options_of_the_engine():
    assert list(get_type_hints(config.StorageOptions)) == list(config.names())


def test_each_place_yields_to_the_one_before(tmp_path, monkeypatch):
    user = write(tmp_path / "xdg" / "arrowroot" / "config.toml", "retries = 1\ntimeout = 1\ndeadline = 1\n")
    assert in_force()["retries"] == ("1", user)
    named = write(tmp_path / "site.toml", "retries = 2\ntimeout = 2\nprefetch = 2\nmax_gap = '2k'\n")
    monkeypatch.setenv("ARROWROOT_CONFIG", named)
    monkeypatch.setenv("ARROWROOT_RETRIES", "3")
    monkeypatch.setenv("ARROWROOT_PREFETCH", "3")
    url = "root://h//f.root?arrowroot.retries=4"
    found = in_force(url, retries=5)
    assert found["retries"] == ("5", "argument")
    assert in_force(url)["retries"] == ("4", "URL")
    assert found["prefetch"] == ("3", "environment ARROWROOT_PREFETCH")
    assert found["timeout"] == ("2", named)
    assert found["max_gap"] == ("2048", named)
    assert found["deadline"] == ("1", user)
    assert found["strategy"] == ("auto", "default")
    assert found["cache_size"] == (None, "default")
    # An argument of None is none.
    assert in_force(url, retries=None)["retries"] == ("4", "URL")


def test_tables_of_a_file_hold_for_the_urls_that_match(tmp_path, monkeypatch):
    text = 'retries = 1\n[for."root://eos*"]\nretries = 2\ntimeout = 9\n[for."*.example//x*"]\nretries = 3\n'
    path = write(tmp_path / "c.toml", text)
    monkeypatch.setenv("ARROWROOT_CONFIG", path)
    assert in_force("root://other//f.root")["retries"] == ("1", path)
    assert in_force("root://eos//f.root")["retries"] == ("2", f'{path} [for."root://eos*"]')
    both = in_force("root://eos.example//x.root?arrowroot.prefetch=1")
    # The table that comes last wins.
    assert both["retries"][0] == "3"
    assert both["timeout"][0] == "9"


def test_tables_for_one_url_do_not_hold_for_another_that_its_file_names(tmp_path, monkeypatch):
    of_main, of_friend = 'retries = 7\ntoken = "hushhush"\n', "timeout = 9\n"
    text = f'prefetch = 4\n[for."https://main*"]\n{of_main}[for."https://friend*"]\n{of_friend}'
    monkeypatch.setenv("ARROWROOT_CONFIG", write(tmp_path / "c.toml", text))
    (main,), settings = config.resolve(["https://main/f.root"], {"max_gap": 1024})
    assert {"retries", "token", "prefetch", "max_gap"} <= {one.name for one in settings}
    named = config.resolve_named("https://friend/f.root", main, settings)
    assert {one.name: one.text for one in named if one.name != "credentials_for"} == {
        "prefetch": "4", "timeout": "9", "max_gap": "1024",
    }  # fmt: skip


def test_globs_take_hosts_without_case_and_paths_with_it(tmp_path, monkeypatch):
    def is_of(glob, url):
        write(tmp_path / "c.toml", f'retries = 1\n[for."{glob}"]\nretries = 2\n')
        return {"1": False, "2": True}[in_force(url)["retries"][0]]

    monkeypatch.setenv("ARROWROOT_CONFIG", str(tmp_path / "c.toml"))
    session("tables-of-options", tmp_path, {"is_of": is_of})


def test_paths_have_homes_and_those_of_files_variables(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SCRATCH", "/scratch/me")
    text = 'block_cache = "~/blocks"\ndownload_dir = "${SCRATCH}/x"\ntoken = "$SCRATCH"'
    monkeypatch.setenv("ARROWROOT_CONFIG", write(tmp_path / "c.toml", text))
    found = in_force("")
    assert found["block_cache"][0] == f"{tmp_path}/blocks"
    assert found["download_dir"][0] == "/scratch/me/x"
    found = {option.name: option.value for option in ar.configuration(download_dir="~/$x").options}
    assert found["download_dir"] == f"{tmp_path}/$x", "elsewhere a shell has put the variables in, or Python"
    monkeypatch.delenv("SCRATCH")
    with pytest.raises(ar.InvalidRequestError, match="variable that is not set"):
        in_force("")


def test_slips_are_errors_that_name_their_place_and_what_is_near(sample, tmp_path, monkeypatch):
    def configured(text):
        write(tmp_path / "c.toml", text)
        return in_force()

    (tmp_path / "sample.root").symlink_to(sample[0])
    monkeypatch.setenv("ARROWROOT_CONFIG", "c.toml")
    session("options", tmp_path, {"ar": ar, "in_force": in_force, "configured": configured})


def test_a_file_that_is_named_must_be_there(tmp_path, monkeypatch):
    monkeypatch.setenv("ARROWROOT_CONFIG", str(tmp_path / "nothing.toml"))
    with pytest.raises(StorageError, match="No such file"):
        in_force()


def test_slips_in_the_environment_are_errors_with_the_nearest_names(monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", "/of/the/laboratory")
    in_force()
    monkeypatch.setenv("ARROWROOT_RETRY", "1")
    with pytest.raises(InvalidRequestError, match="did you mean ARROWROOT_RETRIES"):
        in_force()
    monkeypatch.delenv("ARROWROOT_RETRY")
    monkeypatch.setenv("ARROWROOT_STRATEGEY", "direct")
    with pytest.raises(InvalidRequestError, match="did you mean ARROWROOT_STRATEGY"):
        in_force()
    monkeypatch.delenv("ARROWROOT_STRATEGEY")
    # Somebody else's, and taken back.
    monkeypatch.setenv("ARROWROOT_HOME", "/opt")
    monkeypatch.setenv("ARROWROOT_STRATEGY", "")
    assert in_force()["strategy"] == ("auto", "default")


def test_the_value_is_checked_where_it_is_set(monkeypatch):
    monkeypatch.setenv("ARROWROOT_CACHE_SIZE", "much")
    with pytest.raises(InvalidRequestError, match=r"cache_size \(environment ARROWROOT_CACHE_SIZE\)"):
        in_force()


names = st.sampled_from(config.names())
values = st.text(max_size=20)
others = st.text("abcxyz=%.?/", min_size=1, max_size=12).filter(
    lambda text: not text.startswith("arrowroot.")
)


@given(st.lists(st.one_of(others, st.tuples(names, values)), max_size=6))
def test_only_our_options_are_taken_out_of_a_url(pairs):
    from urllib.parse import quote

    written = [p if isinstance(p, str) else f"arrowroot.{p[0]}={quote(p[1], safe='')}" for p in pairs]
    url = "https://host/dir/f.root" + ("?" + "&".join(written) if written else "")
    bare, options = split_options(url)
    assert options == [p for p in pairs if not isinstance(p, str)]
    rest = [p for p in pairs if isinstance(p, str)]
    assert bare == "https://host/dir/f.root" + ("?" + "&".join(rest) if rest else "")


@pytest.mark.parametrize(
    ("text", "file", "tree"),
    [
        ("https://h/f.root:T?arrowroot.retries=1", "https://h/f.root?arrowroot.retries=1", "T"),
        ("https://h/f.root?arrowroot.retries=1:T", "https://h/f.root?arrowroot.retries=1", "T"),
        ("root://h:1094//f.root?arrowroot.retries=1", "root://h:1094//f.root?arrowroot.retries=1", None),
        (
            "s3://b/f.root?arrowroot.s3_endpoint=http://localhost:9000",
            "s3://b/f.root?arrowroot.s3_endpoint=http://localhost:9000",
            None,
        ),
        ("f.root?arrowroot.retries=1:dir/T;2", "f.root?arrowroot.retries=1", "dir/T;2"),
        ("https://h/f.root?sig=a:b", "https://h/f.root?sig=a:b", None),
    ],
)
def test_a_tree_is_found_beside_options(text, file, tree):
    assert split_url(text) == (file, tree)


def test_files_are_opened_with_their_options(sample):
    url = f"{sample[0]}?arrowroot.cache_size=1k&arrowroot.max_gap=0"
    with ar.open(url, retries=0) as file:
        assert file.url == str(sample[0])
        options = {option.name: option.value for option in file.options}
        assert (options["cache_size"], options["retries"]) == ("1024", "0")
        small = file["Events"].scan()
        small.drain()
    plain = ar.open(sample[0])["Events"].scan()
    plain.drain()
    assert small.stats.read_calls > plain.stats.read_calls
    chain = ar.scan([f"{sample[0]}?arrowroot.cache_size=1k", str(sample[0])], tree="Events", max_gap=0)
    assert chain.to_arrow().num_rows == 2 * plain.num_entries
    assert chain.plan.n_reads > 2 * plain.plan.n_reads
    glob = ar.scan(f"{sample[0].parent}/sam*.root?arrowroot.cache_size=1k", tree="Events")
    assert glob.plan.n_reads > plain.plan.n_reads


def test_the_next_replica_is_opened_if_one_is_missing(sample, tmp_path):
    assert ar.open(tmp_path / "nothing.root", replicas=[sample[0]]).url == str(sample[0])


def refused(name="f.root"):
    """URL of a port that was just given back: nobody listens there."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        return f"http://me:hushhush@127.0.0.1:{server.getsockname()[1]}/{name}"


@pytest.mark.parametrize("other", [[], ["memory://nothing.root"]], ids=["native", "fsspec"])
def test_when_no_replica_can_be_opened_each_is_named_with_its_reason(tmp_path, other):
    """The engine's own stores, and those that Python opens, say the same."""
    if other:
        pytest.importorskip("fsspec", reason="NO FSSPEC FOUND: pip install fsspec")
    missing = [str(tmp_path / "nothing1.root"), *other, str(tmp_path / "nothing2.root")]
    with pytest.raises(ar.NoSuchFileError) as caught:
        ar.open(missing[0], replicas=missing[1:])
    text = str(caught.value)
    assert text.startswith(f"none of {len(missing)} replicas can be opened: (1) {missing[0]}: ")
    assert text.count("no such file") == len(missing)
    assert all(f"({place}) {url}: " in text for place, url in enumerate(missing, 1))
    # A file that one does not have may be where nobody answers today.
    urls = [refused(), *missing]
    with pytest.raises(StorageError) as caught:
        ar.open(urls[0], replicas=urls[1:], retries=0, timeout=5)
    text = str(caught.value)
    assert not isinstance(caught.value, FileNotFoundError)
    assert "refused" in text
    assert missing[0] in text
    assert "hushhush" not in text
    with pytest.raises(StorageError) as caught:
        ar.open("f.root", replicas=[str(tmp_path / f"{'x' * 200}{i}.root") for i in range(100)] + other)
    assert len(str(caught.value)) < 2000
    assert "more" in str(caught.value)


def test_a_replica_whose_url_makes_no_sense_does_not_hide_the_next(sample):
    urls = ["s3://bucket/f.root?versionId=1", "nosuch://h/f.root", str(sample[0])]
    assert ar.open(urls[0], replicas=urls[1:]).url == str(sample[0])
    with pytest.raises(InvalidRequestError, match=r'retries \(argument\): "x"'):
        ar.open(urls[0], replicas=urls[1:], retries="x")


def test_a_scheme_is_read_without_case(sample):
    assert (
        len(ar.open(f"FILE://{sample[0]}")["Events"].to_arrow("run"))
        == ar.open(sample[0])["Events"].num_entries
    )
    with pytest.raises(StorageError, match="refused"):
        ar.open(refused().replace("http", "HTTP"), retries=0)


@pytest.mark.parametrize("way", ["argument", "URL", "environment", "file"])
def test_a_key_without_its_certificate_is_an_error(way, sample, tmp_path, monkeypatch, arrowroot_command):
    url, arguments = str(sample[0]), {}
    if way == "argument":
        arguments["key"] = "k.pem"
    elif way == "URL":
        url += "?arrowroot.key=k.pem"
    elif way == "environment":
        monkeypatch.setenv("ARROWROOT_KEY", "k.pem")
    else:
        monkeypatch.setenv("ARROWROOT_CONFIG", write(tmp_path / "c.toml", "key = 'k.pem'"))
    for use in (ar.open, in_force):
        with pytest.raises(
            InvalidRequestError, match=f"key .*{'c.toml' if way == 'file' else way}.*certificate"
        ):
            use(url, **arguments)
    options = [f"-Okey={arguments['key']}"] if arguments else []
    assert arrowroot_command("ls", url, *options, check=False).returncode == 2
    # The two need not be set in the same place.
    assert in_force(url, certificate="c.pem", **arguments)["key"][0] == "k.pem"


def test_a_cache_of_size_0_is_none(sample):
    """As ROOT means it: each basket is a read, whatever the strategy."""

    def accounts(**options):
        with ar.open(sample[0], max_gap=0, **options) as file:
            scan = file["Events"].scan(n_threads=1)
            scan.drain()
            return scan.stats.read_calls, {account.layer for account in scan.accounts}

    direct = accounts(strategy="direct")
    assert direct[0] > accounts()[0]
    for strategy in _native.strategies():
        assert accounts(strategy=strategy, cache_size=0) == direct, strategy
    assert in_force(cache_size=0)["cache_size"] == ("0", "argument")


def test_baskets_that_are_read_one_by_one_are_handed_on_many_at_a_time(sample):
    """A thread woken for each of 50,000 baskets takes longer than reading and decoding them."""
    with ar.open(sample[0], strategy="direct") as file:
        scan = file["Events"].scan()
        scan.drain()
        plan = scan.plan
    assert scan.stats.read_calls == plan.n_baskets
    assert len(plan.windows) < plan.n_baskets / 4


def test_a_file_with_such_a_name_is_that_file(sample, tmp_path):
    path = tmp_path / "f.root?arrowroot.retries=x"
    path.write_bytes(sample[0].read_bytes())
    assert ar.open(str(path)).url == str(path)


def test_secrets_are_never_shown(monkeypatch, arrowroot_command):
    secret = "s3cr3t-t0k3n"  # noqa: S105 - made up
    configuration = ar.configuration(f"https://me:{secret}@h/f.root?authz={secret}", token=secret)
    assert secret not in repr(configuration)
    token = next(option for option in configuration.options if option.name == "token")
    assert (token.value, token.origin) == (None, "argument")
    assert secret not in repr(config.resolve([], {"token": secret})[1])
    monkeypatch.setenv("ARROWROOT_TOKEN", secret)
    for arguments in (["config"], ["config", "--json"], ["config", f"https://h/f?arrowroot.token={secret}"]):
        assert secret not in arrowroot_command(*arguments).stdout
    done = arrowroot_command("config", "-O", secret, check=False)
    assert secret not in done.stderr
    url = f"nosuch://me:{secret}@h/f.root?arrowroot.token={secret}"
    done = arrowroot_command("ls", url, check=False)
    assert done.returncode != 0
    assert secret not in done.stdout + done.stderr
    with pytest.raises(InvalidRequestError) as caught:
        ar.open(f"https://me:{secret}@h/f.root:Events")
    assert secret not in str(caught.value)


def test_the_command_shows_values_and_who_set_them(arrowroot_command):
    environment = {**os.environ, "ARROWROOT_STRATEGY": "treecache", "COLUMNS": "200"}
    out = arrowroot_command("config", "--cache-size", "30MB", "-O", "retries=2", env=environment).stdout
    lines = {line.split()[0]: line for line in out.splitlines() if line and not line.startswith("─")}
    assert lines["strategy"].split()[1:4] == ["treecache", "environment", "ARROWROOT_STRATEGY"]
    assert lines["cache_size"].split()[1:4] == ["30.0", "MB", "argument"]
    assert lines["retries"].split()[1:3] == ["2", "argument"]
    assert lines["timeout"].split()[1:4] == ["30.0", "s", "default"]
    assert set(config.names()) <= lines.keys()
    document = json.loads(arrowroot_command("config", "--json", env=environment).stdout)
    assert document["form"] == "arrowroot.config/1"
    assert [option["name"] for option in document["options"]] == list(config.names())
    clean = {name: value for name, value in environment.items() if name not in config.SHARED_VARIABLES}
    found = {**clean, "BEARER_TOKEN": "s3cr3t", "https_proxy": "http://me:s3cr3t@p:1", "AWS_PROFILE": ""}
    assert "\nset, and in" not in arrowroot_command("config", env=clean).stdout
    out = arrowroot_command("config", env=found).stdout
    assert "set, and in force where no option is: BEARER_TOKEN, https_proxy\n" in out
    document = json.loads(arrowroot_command("config", "--json", env=found).stdout)
    assert (document["variables"], "s3cr3t" in out) == (["BEARER_TOKEN", "https_proxy"], False)
    done = arrowroot_command("config", "--strategy", "a", "-O", "strategy=b", check=False)
    assert (done.returncode, "set twice" in done.stderr) == (2, True)
    done = arrowroot_command("config", "--strategy", "fast", check=False)
    assert (done.returncode, "lazy-download" in done.stderr) == (2, True)


def test_commands_read_with_the_options_given(sample, arrowroot_command):
    def n_reads(*options):
        return json.loads(arrowroot_command("perf", sample[0], "--json", *options).stdout)["first"][
            "read_calls"
        ]

    assert n_reads("--cache-size", "1k", "-O", "max_gap=0") > n_reads()
    for command in ("ls", "head"):
        done = arrowroot_command(command, sample[0], "-O", "cachesize=1", check=False)
        assert (done.returncode, "did you mean cache_size" in done.stderr) == (2, True)


def test_the_table_of_options_tells_secrets():
    assert config.secret_names() == {"token"}
    assert dict(_native.check_options([("token", "x", "test")]))["token"] is None


def test_proxies_are_those_of_the_environment_and_named_where_they_fail(arrowroot_command):
    def said(url, **variables):
        clean = {name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")}
        done = arrowroot_command("ls", url, "-O", "retries=0", env={**clean, **variables}, check=False)
        assert done.returncode != 0
        return done.stderr

    dead = "http://me:secret@127.0.0.1:9"
    refused = said("http://localhost:1/x.root", http_proxy=dead)
    assert "connection refused (through the proxy 127.0.0.1:9)" in refused
    assert "secret" not in refused
    assert "proxy" not in said("https://localhost:1/x.root", http_proxy=dead)
    assert "proxy" not in said("http://localhost:1/x.root", http_proxy=dead, no_proxy="a, localhost")
    assert "all_proxy: it names no HTTP proxy" in said("http://localhost:1/x.root", all_proxy="socks5://h:1")


def test_a_proxy_that_answers_a_byte_now_and_then_is_not_waited_for_for_ever(arrowroot_command):
    def drip(server):
        connection, _ = server.accept()
        with connection, contextlib.suppress(OSError):
            for byte in b"HTTP/1.1 200 Connection established\r\nX: " + bytes(b"x" * 10_000):
                connection.sendall(bytes([byte]))
                time.sleep(0.05)

    with socket.create_server(("127.0.0.1", 0)) as server:
        Thread(target=drip, args=(server,), daemon=True).start()
        proxy = f"http://127.0.0.1:{server.getsockname()[1]}"
        environment = {**os.environ, "https_proxy": proxy, "no_proxy": ""}
        options = ("-O", "retries=0", "-O", "timeout=1")
        begin = time.monotonic()
        done = arrowroot_command("ls", "https://h.invalid/f.root", *options, env=environment, check=False)
    assert time.monotonic() - begin < 30
    assert "1 s (through the proxy 127.0.0.1:" in done.stderr


def test_values_are_shown_as_sizes_and_times(arrowroot_command):
    environment = {**os.environ, "COLUMNS": "80"}
    typed = ["-O", "max_gap=30MB", "-O", "max_span=4M", "-O", "token=abc"]
    out = arrowroot_command("config", *typed, env=environment).stdout
    rows = {line.split("  ")[0]: " ".join(line.split()[1:]) for line in out.splitlines() if "  " in line}
    assert rows["block_cache_size"].startswith("10.0 GB default most bytes")
    assert rows["timeout"].startswith("30.0 s default")
    assert (rows["max_gap"][:16], rows["max_span"][:14]) == ("30.0 MB argument", "4 MiB argument")
    assert rows["token"].startswith("(hidden) argument")
    assert max(map(len, out.splitlines()[:-2])) <= 80
    assert "<td>10.0 GB</td>" in ar.configuration()._repr_html_()

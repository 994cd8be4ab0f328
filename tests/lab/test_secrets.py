"""Secrets of campaigns, sites, URLs and the environment open what they are for, and nothing shows or keeps them."""

from __future__ import annotations

import json
import pickle
import random
import re
import sqlite3
import sys
import time
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pyarrow.parquet as pq
import pytest

from arrowroot_lab.campaign.git import git
from arrowroot_lab.campaign.site import Batch, read_site
from arrowroot_lab.cli import COMMANDS, main
from arrowroot_lab.documents import encode
from arrowroot_lab.errors import LabError, RequestError
from arrowroot_lab.location import Location, guarded, hidden_in, whole
from arrowroot_lab.redaction import redacted, secrets_of
from arrowroot_lab.running.batch import settings
from arrowroot_lab.store import Store
from arrowroot_lab.store.place import engine_of, resolve, server_of, shown
from arrowroot_lab.store.schema import upgrade
from arrowroot_lab.watching.commits import branch_of
from arrowroot_servers.process import free_port
from tests.lab.made import Made
from tests.lab.older import OlderStore
from tests.lab.running import calls, engine

CANARY = "Hush7Fg2LantErn"
ALLOWED = ("c.toml", "site.toml", "fails.py", "log", "seen")

HIDING = [
    "https://me:{}@host/x?token={}",
    "https://{}@host/x",
    "https://me:p/{}@h/f",
    "https://me:p?{}@h/f",
    "see http;//me:{}@h, ok",
    "http:/me:{}@h",
    "http.//me:{}@h",
    "htp//me:{}@h/f",
    "htp/me:{}@h/f",
    "url=http;//me:{}@h",
    "me:{}@host/db",
    "root://proxy//root://me:{}@h//f?authz={}&xrd.wantprot=gsi",
    "https://h/f?X-Amz-Credential={}&X-Amz-Signature={}",
    "https://h/f?{}",
    "f.root?authz={}",
    "postgresql://lab:{}@h/results?host=/tmp/x&password={}",
    "host=h user=me password={} dbname=d",
    "password='a {}' dbname=d",
    "run --password {} now",
    "run --api-token={}",
    "['run', '--password', '{}']",
    "curl -u me:{} https://h",
    "Authorization: Bearer {}",
    "'Authorization': 'Basic {}'",
    "X-Auth-Token: {}",
    '{{"password": "a {}", "token":"{}"}}',
    '"{{\\"token\\": \\"{}\\"}}"',
    '["--password","{}"]',
    "export AWS_SECRET_ACCESS_KEY={}",
    "-----BEGIN RSA PRIVATE KEY-----\n{}\n",
    "https://h/eyJhbGciOi.eyJzdWIi.{}/f",
    "authorization=bearer {}",
    "Authorization: token {}",
    "Bearer: {}",
    '["Bearer", "{}"]',
    "the bearer token is {}",
    "Bearer token {}",
    "Cookie: a=b; session={}",
    "Set-Cookie: session={}; Secure",
    "mysql --pass {}",
    "http --auth {} h",
    'Authorization: Digest username="me", response="{}"',
    "h/f%3Faccess_token%3D{}",
    "see https://me:a b {}@h/f, ok",
    "https://me:a b@c/{}@h/f",
    'https://me:a" {}@h/f',
    "https:/me:p/{}@h/f",
    "see https://me:{}%40h/f",
    "https://me:{}\uff20h/f",
    r"https:\\me:{}@h\f",
    "curl -u me:{} h",
    "curl -ume:{} h",
    '{{"token":"{}"}}',
    '{{"password":"{}"}}',
    '{{"access_token":"{}"}}',
    '{{"auth": "{}"}}',
    "password:{}",
    "token=b'{}'",
    "auth=('me', '{}')",
    "SSH_KEY: {}",
    "('BEARER_TOKEN', '{}')",
    '["BEARER_TOKEN", "{}"]',
    "--pw {}",
    "--password\\\n {}",
    "sshpass -p {} ssh h",
    "mysql -p{}",
    "<password>{}</password>",
    "<ns:access_token type='x'>{}</ns:access_token>",
    "machine h login me password {}",
    "user me pass {}",
    "token=>{}",
    "token := {}",
    "bearer_token -> {}",
    "creds={}",
    "HTTPBasicAuth('me', '{}')",
    "set_password(b'{}')",
    "Password for me: {}",
    "Password for 'https://me@h': {}",
    "password is {}",
    "password {}",
    "using token {}",
    "API key {}",
    "pass phrase: {}",
    "OAuth {}",
    "token: |\n  {}",
    "password:\n  {}",
    "https:///me:{}@h/x",
    "https:///{}@h/x",
    "root:///me:{}@h//x",
    "https://me:/{}@h/x",
    "https://me:1/{}@h/x",
    "https:///me:pa/{}@h/x",
    "https:// /me:{}@h",
    "https://./me:{}@h",
    "simplecache::https:///me:{}@h",
    "root://proxy///root:///me:{}@h//x",
    "no https://user:p@ss {}@h/x, ok",
    "https://me%3A{}%40h/x",
]
STAYING = [
    "workload.x.key: expected a text",
    "strategy.x.options.token: expected a text",
    "root://h.ch:1094//a@b.root",
    "root://localhost:1094//a@b.root",
    "https://h/a@b/x",
    "s3://bucket/a@b/x",
    "file:///a@b.root",
    "tokens: 5",
    '{"tokens":5,"keys":["a","b"],"passed":true}',
    "no token file",
    "the token is missing",
    "password authentication failed",
    "token expired: ask again",
    "KeyError: 'Muon_pt'",
    '{"key":"Muon_pt","n":3}',
    "store.n_reads: 5, time: 3.5 s",
    "columns: ['token', 'certificate', 'key']",
    "takes token, certificate or key",
    "no monkeys: 3",
    "authors(s): 'a', 'b'",
    "file.root: byte 12: expected 3, got 4",
    "0x7f3a: <bound method x> at 12:30:05",
    "bypass: 3, compass: 4",
    "tree->Draw(x), a => b",
    "no https://h/x for you@h: both",
    "/disk/a@b.root",
    "git@github.com:a/b",
    "monkey=3",
    "no bearer token is known",
    "https://h:x and then",
    "zip://in.root::/disk/a b@c.zip",
    "https://h:8080/f and a@b",
    "Basic authentication failed: no bearer token was given",
    'password authentication failed for user "x"',
    "--token-file /x -p 3",
    "https://h:8080/f.root: 404",
    "postgresql://h/results?host=/tmp/x&sslmode=require",
]


@pytest.mark.parametrize("text", HIDING)
def test_what_gives_access_is_struck_out(text):
    told = redacted(text.replace("{}", CANARY).replace("{{", "{").replace("}}", "}"))
    assert CANARY not in told
    assert redacted(told) == told


@pytest.mark.parametrize("text", STAYING)
def test_all_else_stays(text):
    assert redacted(text) == text


def test_no_drawn_password_is_shown_in_any_form():
    draw = random.Random(2)
    letters = "abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ"
    for _ in range(2000):
        password = "".join(draw.choice(letters + "23456789") for _ in range(draw.randint(8, 20))) + "7q"
        if draw.random() < 0.3:
            password = password[:3] + draw.choice("-_.+~!$*") + password[3:]
        form = draw.choice(HIDING).replace("{}", password).replace("{{", "{").replace("}}", "}")
        before, behind = (
            draw.choice(["", "error: ", "no (", "x\n"]),
            draw.choice(["", "\n", "\nnext: 3", " "]),
        )
        assert password not in redacted(before + form + behind), before + form + behind
        assert password not in json.dumps(redacted({"said": [form]}))
        said = before + draw.choice(STAYING) + behind
        assert redacted(said) == said


@pytest.mark.parametrize(
    ("told", "kept"),
    [
        (["sshpass", "-p", CANARY, "ssh", "-p", "22"], ["sshpass", "-p", "...", "ssh", "-p", "22"]),
        (["/usr/bin/mysql", f"-p{CANARY}", "d"], ["/usr/bin/mysql", "-p...", "d"]),
        (("BEARER_TOKEN", CANARY), ("BEARER_TOKEN", "...")),
        (["token", "certificate"], ["token", "certificate"]),
        (["read", "-p", "4"], ["read", "-p", "4"]),
        ({"auth": CANARY, "tokens": 5, "key": "Muon_pt"}, {"auth": "...", "tokens": 5, "key": "Muon_pt"}),
    ],
)
def test_what_follows_a_name_in_plain_values_is_struck_out(told, kept):
    assert redacted(told) == kept


def test_what_is_shown_stays_as_it_is_and_takes_no_time():
    parts = [
        "a",
        "me",
        "://",
        "//",
        "/",
        ":",
        ";",
        "@",
        "?",
        "&",
        "#",
        "=",
        '"',
        "'",
        " ",
        "Bearer",
        "Basic ",
        "token",
        "--password",
        "...",
        ".",
        ",",
        "http",
        "-u",
        "\\",
        "{",
        "key",
    ]
    draw = random.Random(1)
    for _ in range(600):
        told = redacted("".join(draw.choice(parts) for _ in range(draw.randint(1, 10))))
        assert redacted(told) == told
    began = time.process_time()
    more = (
        "x=a:b", "//a:b", "?a=b&", "a.b_", "eyJa.eyJ", "MDA", "-----BEGIN ", "auth('", "<token", "mysql ",
        "user a password ", "password for ", "token: |\n ", "token is ", "://a:b@c d ",
        "://a:1/b", "('token', ", "sshpass", "api ", "token =",
    )  # fmt: skip
    for part in (*parts, *more):
        redacted("@" + part * (6000 // len(part)))
    # Of rules that look at each place as far as the end, one would take hours.
    assert time.process_time() - began < 20


def test_values_of_the_environment_are_struck_out_but_short_ones_and_names_of_files(tmp_path):
    (tmp_path / "proxy").touch()
    environment = {
        "BEARER_TOKEN": CANARY, "X509_USER_KEY": str(tmp_path / "proxy"), "IS_SECRET": "1", "HOME": "/home/of/me",
        "HTTPS_PROXY": "http://me:An0therOne@proxy:3128", "PWD": "/not/there", "OLDPWD": "/nor/this",
        "SSH_AUTH_SOCK": "/run/agent", "PATH": "/usr/bin",
    }  # fmt: skip
    found = secrets_of(environment)
    assert found == {CANARY, "An0therOne"}
    assert redacted(f"no {CANARY}, An0therOne or 1", found) == "no ..., ... or 1"


@pytest.mark.parametrize(
    "name", ["MYSQL_PWD", "SSHPASS", "DB_PASS", "SITE_PWD", "GH_PAT", "NPM_AUTH", "MY_COOKIE"]
)
def test_values_of_the_environment_are_secret_by_their_names(name):
    assert secrets_of({name: CANARY}) == {CANARY}


def test_a_location_is_whole_for_who_asks_alone():
    place = Location(f"https://me:{CANARY}@h/{{file}}?token={CANARY}&v=1")
    for told in (
        str(place),
        repr(place),
        f"{place:>80}",
        json.dumps({"a": place}),
        place + "x",
        str(LabError(place)),
    ):
        assert CANARY not in told
        assert "https://h/" in told
    assert place.of_file("a").whole() == f"https://me:{CANARY}@h/a?token={CANARY}&v=1"
    assert pickle.loads(pickle.dumps(place)).whole() == place.whole() == Location(place).whole()  # noqa: S301
    plain = {"a": ["--password", CANARY, "x"], "options": {"token": CANARY, "n": 1}}
    kept = guarded(plain)
    assert CANARY not in f"{kept}{json.dumps(kept)}"
    assert whole(kept) == plain
    assert hidden_in(kept) == {CANARY}
    assert redacted({f"https://me:{CANARY}@h": 1}) == {"https://h": 1}
    assert redacted({"counters": {"n_token": 5}}) == {"counters": {"n_token": 5}}


@pytest.mark.parametrize(
    "place", ["postgresql;//me:{}@h/db", "htp//me:{}@h/db", "host=h password={} dbname=d", "me:{}@h/db"]
)
def test_what_was_meant_to_be_a_url_is_no_file(tmp_path, monkeypatch, place):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(RequestError, match="neither a path nor a URL") as caught:
        Store.open(place.format(CANARY))
    assert CANARY not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_a_database_on_a_server_is_connected_to_with_all_that_was_told():
    url = resolve(Location(f"postgresql://lab:{CANARY}@h/db?sslpassword={CANARY}"))
    assert url.password == url.query["sslpassword"] == CANARY
    assert CANARY not in shown(url) + str(server_of(url))


# ---------------------------------------------------------------------------------------------------------------------

FAILS = """\
import os, sys
open(sys.argv[1], "a").write(" ".join(sys.argv) + chr(10))
sys.exit(f"error: token {os.environ['BEARER_TOKEN']} of {sys.argv[4]}, Authorization: Bearer {sys.argv[3]}; "
         f"{sys.argv[3]} is no password")
"""


@pytest.fixture
def planted(campaign, tmp_path, monkeypatch):
    """A campaign with a canary in each field that takes a text, at a site with one, in an environment with some."""
    monkeypatch.setenv("ARROWROOT_LAB_CACHE", str(tmp_path / "cache"))
    for name in ("BEARER_TOKEN", "MY_PASSWORD", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, CANARY)
    (tmp_path / "site.toml").write_text(
        f'name = "farm token={CANARY}"\nstore = "{tmp_path}/lab.db"\n'
        f'[storage.far]\nkind = "url"\nurl = "http://me:{CANARY}@127.0.0.1:9/{{file}}?token={CANARY}"\n'
    )
    monkeypatch.setenv("ARROWROOT_SITE", str(tmp_path / "site.toml"))
    (tmp_path / "fails.py").write_text(FAILS)
    command = [sys.executable, "./fails.py", str(tmp_path / "seen"), "--password", CANARY, "{url}"]
    script = f"[engine.program]\n{engine('fake', log=tmp_path / 'log', token=CANARY)}"
    return campaign(
        script + f'[strategy.auto]\noptions = {{ token = "{CANARY}", depth = 3 }}\n',
        storages='[storage.far]\nkind = "site"\n',
        workloads=f'[workload.runs]\nkind = "program"\ncommand = {json.dumps(command)}\n[workload.reads]\n'
        f'columns = ["x"]\n',
        repeats=1,
        top='[limits]\ntimeout = "60 s"\n',
        name="c.toml",
    )


def texts_below(directory):
    """All that was written, but what has to have it."""
    for path in sorted(directory.rglob("*")):
        if path.is_file() and path.name not in ALLOWED:
            yield str(path), path.read_bytes().decode("latin-1")
            if path.suffix == ".parquet":
                yield str(path), str(pq.read_table(path).to_pylist())


def test_a_campaign_uses_its_secrets_and_nothing_has_them(planted, tmp_path, capfd, monkeypatch):
    text = planted.read_text()
    planted.write_text(text.replace("a campaign of fakes", f"of https://me:{CANARY}@h/"))
    monkeypatch.chdir(tmp_path)
    out = tmp_path / "out"
    assert main(["plan", "c.toml"]) == 0
    assert main(["run", "c.toml", "--json"]) == 1
    results = json.loads(re.search(r"^{.*^}", capfd.readouterr().out, re.MULTILINE | re.DOTALL)[0])["results"]
    assert {one["outcome"] for one in results} == {"ok", "failed", "skipped"}
    run = next(Store.open().results()).campaign["run"]
    (uuid,) = (one["uuid"] for one in results if one["outcome"] == "failed")
    for command in (
        ["run", "c.toml"], ["show"], ["show", "--all", "--json"], ["show", uuid], ["show", uuid, "--document"],
        ["show", "--overview"], ["history"], ["compare", "--by", "engine"], ["diff-env", results[0]["uuid"], uuid],
        ["publish", str(out / "pages")], ["export", f"{out}/export/"], ["export", f"{out}/results.csv"],
        ["import", f"{out}/export", "--db", f"{out}/other.db", "--json"],
        ["check", "--baseline", run, "--junit", f"{out}/j.xml", "--markdown", f"{out}/m.md", "--no-confirm"],
        ["watch", "c.toml", "--once", "--no-confirm", "--command", f"false --password {CANARY}"],
        ["cache"],
    ):  # fmt: skip
        main(command)
        said = "".join(capfd.readouterr())
        assert CANARY not in said, (command, said)
    for name, content in texts_below(tmp_path):
        assert CANARY not in content, name
    # Whoever connects has them.
    asked = [call["job"] for call in calls(tmp_path / "log") if call["verb"] == "run"]
    assert {f"http://me:{CANARY}@127.0.0.1:9/numbers.root?token={CANARY}"} == {
        url for job in asked for url in job["urls"]
    }
    assert {CANARY} == {job["options"]["token"] for job in asked}
    seen = (tmp_path / "seen").read_text()
    assert f"--password {CANARY} http://me:{CANARY}@127.0.0.1:9/numbers.root?token={CANARY}" in seen


MISTYPED = (
    f"http;//me:{CANARY}@h/c.toml", f"htp//me:{CANARY}@h", f"https://me:{CANARY}@h/x?token={CANARY}",
    f"http;//{CANARY}@h/c.toml", f"https://me:p/{CANARY}@h/c.toml", f"https:/me:p/{CANARY}@h/x",
    f"https://me:p {CANARY}@h/x", f"https://me:{CANARY}%40h/x.csv",
)  # fmt: skip
ARGUMENTS = {
    "plan": ["{}"], "push": ["{}"], "run": ["{}"], "show": ["--db", "{}"], "compare": ["{}", "--db", "{}"],
    "check": ["--baseline", "{}", "--markdown", "{}"], "watch": ["{}", "--every", "{}"], "wan": ["{}"],
    "history": ["--db", "{}"], "diff-env": ["{}", "{}", "--db", "{}"], "publish": ["{}"], "export": ["{}"],
    "import": ["{}"], "cache": ["{}"], "classics": ["--picture", "{}"], "settings": ["{}", "--output", "{}"],
}  # fmt: skip


# The name of a test is in the environment, whose secrets are hidden anyway: it has no URL.
@pytest.mark.parametrize("url", MISTYPED, ids=range(len(MISTYPED)))
@pytest.mark.parametrize("command", ARGUMENTS)
def test_commands_show_no_mistyped_url(command, url, tmp_path, monkeypatch, capfd):
    assert set(ARGUMENTS) >= set(COMMANDS)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ARROWROOT_SITE", "here")
    for more in (
        [],
        ["--db", url],
        ["--site", url],
        ["--on-commit", url],
        ["--dask", url],
        ["--engine", url],
    ):
        try:
            code = main([command, *(word.replace("{}", url) for word in ARGUMENTS[command]), *more])
        except SystemExit as end:
            code = end.code
        said = "".join(capfd.readouterr())
        assert CANARY not in said
        assert code, (command, said)
        assert "Traceback" not in said
    assert not any(CANARY in str(path) for path in tmp_path.rglob("*"))


def test_a_bug_is_told_without_what_it_was_about(monkeypatch, capfd):
    def fails(*_):
        raise ValueError(f"no https://me:{CANARY}@h")

    monkeypatch.setattr("arrowroot_lab.cli.asking.opened", fails)
    assert main(["show"]) == 1
    said = capfd.readouterr().err
    assert "ValueError: no https://h" in said
    assert CANARY not in said


class Guarding(BaseHTTPRequestHandler):
    """Takes files from whoever has the token."""

    taken: dict[str, bytes]

    def do_PUT(self) -> None:
        is_known = f"token={CANARY}" in self.path
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if is_known:
            self.taken[self.path] = body
        self._answer(201 if is_known else 403, f"no {self.path}".encode())

    def do_HEAD(self) -> None:
        body = self.taken.get(self.path)
        self._answer(404 if body is None else 200, body or b"")

    def do_GET(self) -> None:
        self.do_HEAD()

    def do_MOVE(self) -> None:
        self._answer(405, b"")

    def do_DELETE(self) -> None:
        self._answer(405, b"")

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


@pytest.mark.parametrize("is_known", [True, False])
def test_a_push_uses_its_token_and_does_not_show_it(campaign, capfd, is_known):
    Guarding.taken = {}
    server = ThreadingHTTPServer(("127.0.0.1", free_port()), Guarding)
    Thread(target=server.serve_forever, daemon=True).start()
    token = CANARY if is_known else f"{CANARY}x"[1:]
    url = f"http://me:{CANARY}@127.0.0.1:{server.server_port}/{{file}}?token={token}"
    path = campaign(engine("fake"), storages=f'[storage.far]\nkind = "url"\nurl = "{url}"\npush = true\n')
    try:
        assert main(["push", str(path)]) == (0 if is_known else 1)
    finally:
        server.shutdown()
        server.server_close()
    said = "".join(capfd.readouterr())
    assert CANARY[1:] not in said
    assert f"http://127.0.0.1:{server.server_port}/" in said
    assert bool(Guarding.taken) == is_known


def test_a_repository_is_read_with_its_password_which_no_argument_has(tmp_path, monkeypatch):
    seen = tmp_path / "git"
    seen.write_text(f'#!/bin/sh\nenv > {tmp_path}/env; echo "$@" > {tmp_path}/arguments\n')
    seen.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    branch = branch_of(f"https://me:{CANARY}@h/r.git:main")
    assert (branch.repository, branch.name) == ("https://h/r.git", "main")
    git("ls-remote", "--", branch.repository, place=branch.repository)
    assert (tmp_path / "arguments").read_text().endswith(" ls-remote -- https://h/r.git\n")
    assert f"GIT_CONFIG_KEY_0=url.https://me:{CANARY}@h/r.git.insteadOf" in (tmp_path / "env").read_text()


def test_jobs_of_a_batch_system_get_their_lines_whole_and_nothing_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("ARROWROOT_LAB_DB", f"postgresql://me:{CANARY}@h/db")
    monkeypatch.setenv("BEARER_TOKEN", CANARY)
    assert CANARY not in str(settings(Batch("slurm")))
    path = tmp_path / "s.toml"
    path.write_text(f'name = "s"\n[batch.slurm]\nprologue = ["export BEARER_TOKEN={CANARY}"]\n')
    batch = read_site(path).batches["slurm"]
    assert CANARY not in str(batch)
    assert f"export BEARER_TOKEN={CANARY}" in settings(batch)["job_script_prologue"]


def test_an_older_database_is_cleaned_once_and_its_series_go_on(tmp_path):
    path = tmp_path / "lab.db"
    told = Made(n_runs=2, engines=("root",)).results()
    for result in told:
        result.case["workload"]["command"] = ["read", "--password", CANARY, f"https://me:{CANARY}@h/x"]
        for sample in result.samples:
            sample.reason = f"Authorization: Bearer {CANARY}"
    database = engine_of(resolve(path))
    with database.connect().execution_options(writes=True) as connection, connection.begin():
        upgrade(connection, "0004")
        older = OlderStore(connection)
        for result in told:
            older.put(result)
    database.dispose()
    with closing(sqlite3.connect(path)) as connection, connection:
        accepted = [told[0].series_id, "store.n_reads", "1", "2", 2.0, f"see https://me:{CANARY}@h", "2026"]
        connection.execute("INSERT INTO accepted VALUES (?, ?, ?, ?, ?, ?, ?)", accepted)
    assert CANARY.encode() in path.read_bytes()
    with Store.open(path) as now:
        kept = list(now.results())
        assert len(kept) == len(told)
        assert {one.case_id for one in kept} == {row.case_id for row in now.summaries()}
        assert {one.series_id for one in now.accepted()} <= {one.series_id for one in kept}
        # The same that a new run would have, whose case is made of what is shown.
        case = redacted(told[0].case)
        assert case in [one.case for one in kept]
        assert not now.put_document(encode(told[0]))
    for file in tmp_path.glob("lab.db*"):
        assert CANARY.encode() not in file.read_bytes(), file

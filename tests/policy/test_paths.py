"""Classes of paths, secrets, and what lies below a directory."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from efr.policy.paths import normal, view
from tests.policy.corpus import HOME, IN_PROJECT, SCRATCH

LINKED = replace(IN_PROJECT, home_real="/data/u")


@pytest.mark.parametrize(
    ("path", "expected"),
    [("/a/./b//c/", "/a/b/c"), ("/..", "/"), ("/a/../../b", "/b"), ("//x", "/x"), ("/", "/")],
)
def test_normal_form(path: str, expected: str) -> None:
    assert normal(path) == expected


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        (HOME, "user_data"),
        (f"{HOME}/notes/a", "user_data"),
        (f"{HOME}/.bashrc", "user_config"),
        (f"{HOME}/.local", "user_config"),
        (f"{HOME}/.local/share/x", "user_data"),
        (f"{HOME}/.local/sharex", "user_config"),
        (f"{HOME}/.cache", "user_data"),
        (f"{HOME}/p/app/.git/config", "user_config"),
        (f"{SCRATCH}/x", "scratch"),
        (SCRATCH, "scratch"),
        (f"{SCRATCH}/.git/hooks/x", "user_config"),
        (f"{HOME}/.ssh", "secrets"),
        (f"{HOME}/.sshd", "user_config"),
        (f"{HOME}/.aws/config", "user_config"),
        (f"{HOME}/.aws/sso/cache/x", "secrets"),
        (f"{HOME}/.local/share/efr/secrets/k", "secrets"),
        ("/etc", "system"),
        ("/etc/shadow", "secrets"),
        ("/etc/shadow-", "secrets"),
        ("/etc/shadow.d", "system"),
        ("/etc/ssh/ssh_host_ed25519_key", "secrets"),
        ("/etc/ssh/ssh_host_ed25519_key.pub", "system"),
        ("/etc/wireguard/wg0.conf", "secrets"),
        ("/home/u/.pgpass", "secrets"),
        ("/proc/kcore", "secrets"),
        ("/dev/mem", "secrets"),
        ("/home/u2", "system"),
        ("/usr/.git/x", "system"),
        ("/proc/self/environ", "secrets"),
        ("/proc/1/root/etc/passwd", "secrets"),
        ("/proc/self/task/9/environ", "secrets"),
        ("/proc/thread-self/fd/3", "secrets"),
        ("/proc/self/status", "system"),
        ("/proc/cpuinfo", "system"),
    ],
)
def test_classes(path: str, kind: str) -> None:
    assert view(IN_PROJECT).class_of(path) == kind


@given(st.sampled_from([".ssh/id", ".ssh", "notes", ".config/efr/x", "p/app/a", "", ".git/x"]))
def test_every_form_of_the_home_is_one_place(inside: str) -> None:
    paths = view(LINKED)
    given_form = paths.form(f"{HOME}/{inside}")
    for other in (f"/data/u/{inside}", f"/data/u/../u/./{inside}", f"/{HOME}/x/../{inside}"):
        assert paths.form(other) == given_form
    assert paths.class_of(given_form) == view(IN_PROJECT).class_of(given_form)


@pytest.mark.parametrize(
    ("path", "below"),
    [
        ("/", True),
        ("/proc", True),
        ("/proc/self", True),
        ("/proc/12/task", True),
        ("/proc/12/task/13", True),
        ("/proc/sys", False),
        ("/etc", True),
        (HOME, True),
        (f"{HOME}/.aws", True),
        (f"{HOME}/.ssh", False),
        (f"{HOME}/.config/nvim", False),
        (f"{HOME}/.local/share/efr", True),
    ],
)
def test_a_secret_below(path: str, below: bool) -> None:
    paths = view(IN_PROJECT)
    assert (paths.shows_processes(path) or bool(paths.secrets_below(path))) == below


@pytest.mark.parametrize(
    ("path", "is_secret"),
    [
        (".mozilla/firefox/x.default/logins.json", True),
        (".mozilla/firefox/x.default/cookies.sqlite-wal", True),
        (".mozilla/firefox/x.default/sessionstore-backups/recovery.jsonlz4", True),
        (".mozilla/firefox/x.default/chrome/userChrome.css", False),
        (".mozilla/firefox/profiles.ini", False),
        (".config/google-chrome/Default/Network/Cookies", True),
        (".config/google-chrome/Profile 1/Login Data-journal", True),
        (".config/google-chrome/Default/Bookmarks", False),
        (".config/BraveSoftware/Brave-Browser/Local State", True),
        ("p/app/logins.json", False),
        ("p/.mozilla/firefox/x/logins.json", False),
    ],
)
def test_what_a_browser_keeps_of_logins_is_secret(path: str, is_secret: bool) -> None:
    paths = view(IN_PROJECT)
    assert (paths.class_of(f"{HOME}/{path}") == "secrets") is is_secret
    assert paths.class_of(f"/other/{path}") == "system"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        (HOME, True),
        ("/", True),
        (f"{HOME}/.mozilla", True),
        (f"{HOME}/.mozilla/firefox/x", True),
        (f"{HOME}/.config/google-chrome", True),
        (f"{HOME}/.mozilla/native-messaging-hosts", False),
        (f"{HOME}/.config/nvim", False),
        (f"{HOME}/p", False),
    ],
)
def test_a_profile_of_a_browser_that_is_read_whole(path: str, shown: bool) -> None:
    assert view(IN_PROJECT).shows_logins(path) is shown


def test_what_only_efr_writes() -> None:
    paths = view(replace(IN_PROJECT, data_real="/mnt/efr"))
    assert paths.write_seal(f"{HOME}/.config/efr/config.toml") == "efr's settings"
    assert paths.write_seal(f"{HOME}/dotfiles/efr/config.toml") == "efr's settings"
    assert paths.write_seal(f"{HOME}/.local/share/efr/efr.sqlite") == "efr's data"
    assert paths.write_seal("/mnt/efr/efr.sqlite") == "efr's data"
    assert paths.write_seal(f"{HOME}/.local/share/efr/scratch/c2/x") == "efr's data"
    assert paths.write_seal(f"{SCRATCH}/x") is None
    assert paths.write_seal(HOME) is None
    assert paths.seal_below(f"{HOME}/dotfiles") == "efr's settings"
    assert paths.seal_below(f"{HOME}/.local/share") == "efr's data"
    assert paths.seal_below(SCRATCH) is None
    assert paths.class_of("/mnt/efr/secrets/k") == "secrets"


@pytest.mark.parametrize("root", ["/", "/home", HOME, "/data", "/data/u", f"{HOME}/x/.."])
def test_a_root_at_or_above_the_home_widens_nothing(root: str) -> None:
    paths = view(replace(LINKED, project_root=root, scratch=root))
    assert (paths.project_root, paths.scratch) == (None, None)
    assert paths.class_of(f"{HOME}/x") == "user_data"
    assert not paths.in_project(f"{HOME}/x")


def test_a_project_holds_what_is_strictly_below() -> None:
    paths = view(IN_PROJECT)
    held = [
        p
        for p in ("/", "/a", "/a/b", "lication")
        if paths.in_project(paths.form(f"{HOME}/p/app{p}"))
    ]
    assert held == ["/a", "/a/b"]


@pytest.mark.parametrize(
    ("home", "home_real"),
    [("/", "/"), ("u", "/u"), ("/u", "u"), ("/h/u", "/h/u/x"), ("/h/u", "/h")],
)
def test_no_home(home: str, home_real: str) -> None:
    with pytest.raises(ValueError, match="home"):
        view(replace(IN_PROJECT, home=home, home_real=home_real))


def test_secret_paths_of_the_settings() -> None:
    paths = view(replace(LINKED, secret_paths=("/data/u/vault", "/srv/keys")))
    assert paths.class_of(paths.form(f"{HOME}/vault/a")) == "secrets"
    assert list(paths.secrets_below("/srv")) == ["/srv/keys"]


@pytest.mark.parametrize(
    ("path", "device"),
    [
        ("/dev/sda1", True),
        ("/dev/disk/by-uuid/1-2", True),
        ("/dev/mapper/root", True),
        ("/dev/pts/3", True),
        ("/dev/input/event0", True),
        ("/dev/null", False),
        ("/dev/shm/x", False),
        ("/dev/disk/by-id", False),
        ("/dev/pts", False),
        ("/dev", False),
        ("/device/x", False),
    ],
)
def test_devices(path: str, device: bool) -> None:
    assert view(IN_PROJECT).is_device(path) is device


@pytest.mark.parametrize(
    ("path", "entry"),
    [
        ("/proc/self/cwd/../../.ssh/id", "/proc/self/cwd"),
        ("/x/../proc//./12/root/../a", "/proc/12/root"),
        ("/proc/self/task/3/fd/4/..", "/proc/self/task/3/fd"),
        ("/proc/self/status/../cwd", "/proc/self/cwd"),
        ("/proc/self/../cpuinfo", None),
        ("/proc/cpuinfo", None),
        ("/home/u/proc/self/cwd/..", None),
    ],
)
def test_nothing_behind_a_link_of_a_process_is_judged(path: str, entry: str | None) -> None:
    assert view(IN_PROJECT).through_process(path) == entry

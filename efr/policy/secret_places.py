"""Where secrets are kept: tables of locations, and what a browser keeps of logins.

Pure data.
"""

from __future__ import annotations

import re
from typing import Final

# Below the home.
SECRETS_IN_HOME: Final = (
    ".ssh",
    ".gnupg",
    ".password-store",
    ".local/share/keyrings",
    ".netrc",
    ".aws/credentials",
    ".aws/sso/cache",
    ".azure",
    ".config/gcloud",
    ".docker/config.json",
    ".kube/config",
    ".codex/auth.json",
    ".git-credentials",
    ".config/gh/hosts.yml",
    ".npmrc",
    ".pypirc",
    ".cargo/credentials",
    ".cargo/credentials.toml",
    ".gem/credentials",
    ".vault-token",
    ".terraform.d/credentials.tfrc.json",
    ".claude/.credentials.json",
    ".config/op",
    ".config/containers/auth.json",
    ".local/share/kwalletd",
    ".config/github-copilot",
    ".config/rclone/rclone.conf",
    ".config/hub",
    ".pgpass",
    ".mylogin.cnf",
    ".config/sops/age",
    ".config/git/credentials",
    ".config/glab-cli/config.yml",
    ".config/hcloud/cli.toml",
    ".config/composer/auth.json",
    ".config/pypoetry/auth.toml",
    ".local/share/uv/credentials",
    ".local/share/opencode/auth.json",
)
# Where browsers keep profiles, and the files of one that hold passwords, cookies and their keys.
BROWSERS: Final = (
    ".mozilla/firefox",
    ".librewolf",
    ".zen",
    ".thunderbird",
    "snap/firefox/common/.mozilla/firefox",
    ".var/app/org.mozilla.firefox/.mozilla/firefox",
    ".config/chromium",
    ".config/google-chrome",
    ".config/BraveSoftware",
    ".config/microsoft-edge",
    ".config/vivaldi",
    ".config/opera",
)
LOGINS: Final = (
    "logins.json",
    "logins-backup.json",
    "key4.db",
    "cookies.sqlite",
    "sessionstore.jsonlz4",
    "sessionstore-backups",
    "Cookies",
    "Login Data",
    "Login Data For Account",
    "Web Data",
    "Local State",
    "Sessions",
)
# Below the home, one of them or what a database keeps beside it.
LOGIN: Final = re.compile(
    rf"(?:{'|'.join(map(re.escape, BROWSERS))})/(?:.*/)?(?:{'|'.join(map(re.escape, LOGINS))})"
    r"(?:-(?:journal|wal|shm))?(?:/.*)?",
    re.DOTALL,
)
SECRETS_ELSEWHERE: Final = (
    "/etc/shadow",
    "/etc/shadow-",  # the copy from before the last change
    "/etc/gshadow",
    "/etc/gshadow-",
    "/etc/ssh/ssh_host_rsa_key",
    "/etc/ssh/ssh_host_dsa_key",
    "/etc/ssh/ssh_host_ecdsa_key",
    "/etc/ssh/ssh_host_ed25519_key",
    "/etc/ssl/private",
    "/etc/wireguard",
    "/etc/NetworkManager/system-connections",
    "/proc/kcore",  # these four show all memory
    "/dev/mem",
    "/dev/kmem",
    "/dev/port",
)

"""The agent's own parts that conversations share, in one place beside the ports.

Built once by `Agent`. Everything in it may be used from any thread.
"""

from __future__ import annotations

from msgspec import Struct

from efr.agent.commit import Commits
from efr.agent.drafts import DraftHub
from efr.agent.followers import Followers
from efr.agent.notices import Notices
from efr.agent.ports import Ports
from efr.agent.receipts import Receipts
from efr.agent.settings import Resolved, resolve
from efr.wire import types as t
from efr.wire.errors import Refusal


class Services(Struct, frozen=True):
    """What a conversation and its turns work with."""

    ports: Ports
    commits: Commits
    receipts: Receipts
    drafts: DraftHub
    followers: Followers
    notices: Notices

    def resolve(self, asked: t.TurnSettings, *, remote: bool) -> Resolved:
        """The settings of a turn that would start now. Raises Refusal."""
        ports = self.ports
        return resolve(asked, ports.settings(), ports.models, ports.mode_limits(), remote=remote)

    def fits(self, asked: t.TurnSettings, *, remote: bool) -> bool:
        """Whether a turn can run with these settings now."""
        try:
            self.resolve(asked, remote=remote)
        except Refusal:
            return False
        return True

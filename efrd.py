"""efrd, the efr daemon. Started by systemd as your user, or by hand.

Usage:
  efrd [--log=FILTER] [--screen=BACKEND]
  efrd --print-config [--log=FILTER] [--screen=BACKEND]
  efrd --rebuild-projections [--log=FILTER]
  efrd --help
  efrd --version

Options:
  --log=FILTER            What to log, such as info or info,efr.agent=debug.
  --screen=BACKEND        Screen of the hidden shells: auto, vt100 or ghostty.
  --print-config          Print every setting with its source and exit.
  --rebuild-projections   Build the tables that follow from the event log anew and exit.
  --help                  Show this text and exit.
  --version               Show the version and exit.

Exit codes: 0 stopped, 1 the start failed, 2 wrong usage, 3 another efrd runs on this data.
"""

from __future__ import annotations

import gc
import os
import sys

from efr.base.ctrl_c import end_at_once
from efr.base.streams import drop_stdout, is_full, make_usable

EXIT_FAILED, EXIT_USAGE = 1, 2


def main() -> None:
    """The console script `efrd`."""
    end_at_once()  # until the daemon has something to stop
    make_usable()
    from docopt import DocoptExit, docopt

    from efr.base.version import VERSION

    try:
        said = docopt(__doc__, version=f"efrd {VERSION}")
    except DocoptExit as exc:
        from efr.text.visible import visible_line

        given = visible_line(" ".join(sys.argv[1:]))
        sys.stderr.write(f"efrd: these arguments do not fit: {given}\n{exc.usage.strip()}\n")
        sys.exit(EXIT_USAGE)
    gc.disable()  # while modules load there is nothing to collect, and looking for it takes long
    from efr.daemon.main import Flags, run  # rooms that the usage does not need

    gc.freeze()  # what they made stays: no later collection looks at it again
    gc.enable()
    flags = Flags(
        log=said["--log"],
        screen=said["--screen"],
        print_config=said["--print-config"],
        rebuild_projections=said["--rebuild-projections"],
    )
    try:
        code = run(flags, dict(os.environ))
        sys.stdout.flush()
    except BrokenPipeError:
        if not flags.print_config:
            raise
        drop_stdout()
        code = 0  # the reader has seen enough
    except OSError as error:
        if not flags.print_config or not is_full(error):
            raise
        sys.stderr.write(f"efrd: the output cannot be written: {error.strerror}\n")
        drop_stdout()
        code = EXIT_FAILED
    sys.exit(code)


if __name__ == "__main__":
    main()

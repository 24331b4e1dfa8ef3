"""The command line, run in this process."""

from l0path.__main__ import main


def run(capsys, *arguments):
    """(exit code, what was printed, what went to stderr)."""
    code = main([str(a) for a in arguments])
    out = capsys.readouterr()
    return code, out.out, out.err

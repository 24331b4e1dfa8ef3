"""How the wheel of l0path-kernels is made: hatchling, with the kernels of `warm_up("all")` compiled
for every level of instruction sets that this machine can run, and with the versions they fit.

L0PATH_KERNEL_LEVELS="x86-64-v3 x86-64-v4" in the environment chooses the levels.
"""

import json
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version
from pathlib import Path

from hatchling.build import build_wheel as build_wheel
from hatchling.builders.hooks.plugin.interface import BuildHookInterface
from hatchling.metadata.plugin.interface import MetadataHookInterface

CHECKOUT = Path(__file__).resolve().parents[1]


def get_requires_for_build_wheel(config_settings=None):
    """The build needs the l0path whose kernels it compiles: that of this checkout."""
    return [f"l0path @ {CHECKOUT.as_uri()}"]


class Metadata(MetadataHookInterface):
    """What the kernels fit exactly is what they are built with."""

    PLUGIN_NAME = "custom"

    def update(self, metadata):
        metadata["version"] = version("l0path")
        metadata["requires-python"] = "=={}.{}.*".format(*sys.version_info)
        metadata["dependencies"] = [
            f"{name}=={version(name)}" for name in ("l0path", "numba", "llvmlite")
        ]


class Kernels(BuildHookInterface):
    """Compile, and put a folder for each level into the wheel."""

    PLUGIN_NAME = "custom"

    def initialize(self, version, build_data):
        from l0path.compiled import shipped

        self.made = tempfile.TemporaryDirectory()
        made = Path(self.made.name)
        for level in chosen():
            self.app.display_info(f"compiling the kernels of {level.name}")
            folder = compile_level(level, made / level.name)
            build_data["force_include"][str(folder)] = f"{shipped.COMPANION}/{level.name}"
        (made / shipped.MADE_FOR).write_text(json.dumps(shipped.versions(), indent=1) + "\n")
        build_data["force_include"][str(made / shipped.MADE_FOR)] = (
            f"{shipped.COMPANION}/{shipped.MADE_FOR}"
        )
        build_data["infer_tag"] = True
        build_data["pure_python"] = False

    def finalize(self, version, build_data, artifact_path):
        self.made.cleanup()


def chosen():
    """Levels to compile: those asked for, else all that this machine can run (tiny fits do)."""
    from llvmlite.binding import get_host_cpu_features

    from l0path.compiled import shipped

    able = {level.name: level for level in shipped.supported(get_host_cpu_features().flatten())}
    names = os.environ.get("L0PATH_KERNEL_LEVELS", " ".join(able)).split()
    unable = [name for name in names if name not in able]
    if unable or not names:
        raise SystemExit(f"levels {names}: this machine can run {list(able)} and no others")
    return [able[name] for name in names]


def compile_level(level, folder):
    """Folder with the kernels of a level, compiled by processes for which numba's processor is
    that level.
    """
    environment = {k: v for k, v in os.environ.items() if not k.startswith("NUMBA_")}
    environment |= {
        "NUMBA_CACHE_DIR": str(folder),
        "NUMBA_CPU_NAME": level.processor,
        "NUMBA_CPU_FEATURES": level.features,
    }
    subprocess.run([sys.executable, "-m", "l0path", "warm-up"], env=environment, check=True)
    for unfinished in (*folder.rglob("*.partial"), *folder.rglob("*.claim")):
        unfinished.unlink()
    return folder / "l0path"
